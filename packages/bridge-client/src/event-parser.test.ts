import { describe, expect, it } from 'vitest'
import { type EventFields, eventParser } from './event-parser.ts'

function parsed(...chunks: string[]): EventFields[] {
  const events: EventFields[] = []
  const parse = eventParser((fields) => events.push(fields))
  let rest = ''
  for (const chunk of chunks) rest = parse(rest + chunk)
  return events
}

const stream =
  'retry: 1000\n\nevent: state\ndata: {"key":"a: b"}\n\n: a comment\n\nevent:release\ndata:{"key":"é"}\nid: 7\n\n'
const events = [
  { retry: '1000' },
  { event: 'state', data: '{"key":"a: b"}' },
  {},
  { event: 'release', data: '{"key":"é"}' },
]

describe('eventParser', () => {
  it('reads its fields with and without a space, and passes over comments and what it does not know', () => {
    expect(parsed(stream)).toEqual(events)
  })

  it.each([
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('reads lines that end with %s', (_, ending) => {
    // A lone CR may be half of a line ending, so the last one waits for what follows.
    expect(parsed(stream.replaceAll('\n', ending), ending).slice(0, 4)).toEqual(events)
  })

  it.each(['\n', '\r\n'])('does not care where chunks begin (%j)', (ending) => {
    const text = stream.replaceAll('\n', ending)
    expect(parsed(...text)).toEqual(events)
    for (let at = 1; at < text.length; at++) expect(parsed(text.slice(0, at), text.slice(at))).toEqual(events)
  })

  it.each(['\u2028', '\u2029', '\u0085', '\v', '\f', '\0', ' ', ':'])(
    'takes any value, and ends no line at %j',
    (character) => {
      expect(parsed(`data: a${character}b\n\n`)).toEqual([{ data: `a${character}b` }])
    },
  )

  it('skips an event that its reader cannot read', () => {
    const events: unknown[] = []
    const parse = eventParser(({ data }) => events.push(JSON.parse(`${data}`)))
    expect(parse('data: 1\n\ndata: {\n\ndata: 2\n\nda')).toBe('da')
    expect(events).toEqual([1, 2])
  })

  it('keeps an event until its end has come', () => {
    expect(parsed('event: release\ndata: {}\n')).toEqual([])
  })
})
