import { describe, expect, it } from 'vitest'
import { type EventFields, eventParser } from './event-parser.ts'

function parsed(...chunks: string[]): EventFields[] {
  const events: EventFields[] = []
  const parse = eventParser((fields) => events.push(fields))
  for (const chunk of chunks) parse(chunk)
  return events
}

const stream =
  'retry: 1000\n\nevent: state\ndata: {"key":"a: b"}\n\n: a comment\n\nevent:release\ndata:{"key":"é"}\nid: 7\n\n'
const events = [
  { retry: '1000' },
  { event: 'state', data: '{"key":"a: b"}' },
  { '': 'a comment' },
  { event: 'release', data: '{"key":"é"}', id: '7' },
]

describe('eventParser', () => {
  it('reads fields with and without a space, comments and what it does not know', () => {
    expect(parsed(stream)).toEqual(events)
  })

  it.each([
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('reads lines that end with %s', (_, ending) => {
    // A CR alone may be half of a line's end, so that the last one waits for what follows.
    expect(parsed(stream.replaceAll('\n', ending), ending).slice(0, 4)).toEqual(events)
  })

  it.each(['\n', '\r\n'])('does not care where chunks begin (%j)', (ending) => {
    const text = stream.replaceAll('\n', ending)
    expect(parsed(...text)).toEqual(events)
    for (let at = 1; at < text.length; at++) expect(parsed(text.slice(0, at), text.slice(at))).toEqual(events)
  })

  it('keeps an event until its end has come', () => {
    expect(parsed('event: release\ndata: {}\n')).toEqual([])
  })
})
