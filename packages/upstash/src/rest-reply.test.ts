import type { ScriptCall, ScriptReply } from '@leasehold/core/redis'
import { describe, expect, it } from 'vitest'
import { repliesOf } from './rest-reply.ts'

const call: ScriptCall = { command: 'EVALSHA', body: 'f'.repeat(40), keys: ['lock:a'], args: [] }
const replies = (status: number, text: string, count = 1): readonly ScriptReply[] =>
  repliesOf(status, text, Array(count).fill(call), (said) => said.replaceAll('secret', '…'))

const value = (of: unknown): ScriptReply => ({ type: 'value', value: of, resent: false })
const unknown = (executed: 'no' | 'unknown', about: string): unknown =>
  expect.objectContaining({
    type: 'unknown',
    executed,
    cause: expect.objectContaining({ message: expect.stringContaining(about) }),
  })

describe('an HTTP answer', () => {
  it('of status 200 has the result, or the error, of each call', () => {
    expect(replies(200, '{"result":["held",5,"-"]}')).toEqual([value(['held', 5, '-'])])
    expect(replies(200, '{"result":null}')).toEqual([value(null)])
    expect(replies(200, '[{"result":"123"},{"error":"ERR secret"}]', 2)).toEqual([
      value('123'),
      { type: 'error', message: 'ERR …' },
    ])
    expect(replies(200, '[{"error":"ERR"},{"result":0}]', 2)).toEqual([{ type: 'error', message: 'ERR' }, value(0)])
  })

  it.each([
    ['', 1],
    ['<html>', 1],
    ['{"result":', 1],
    ['null', 1],
    ['"result"', 1],
    ['{}', 1],
    ['{"error":5}', 1],
    ['{"error":""}', 1],
    ['[{"result":1}]', 1],
    ['{"result":1}', 2],
    ['[{"result":1}]', 2],
    ['[{"result":1},{"result":1},{"result":1}]', 2],
    ['{"result":[{"result":1},{"result":1}]}', 2],
  ])('of status 200 that says %s to %i calls is none', (text, count) => {
    expect(replies(200, text, count)).toEqual(Array(count).fill(unknown('unknown', 'HTTP 200')))
  })

  it('of status 200 leaves unknown the one call it has nothing for', () => {
    expect(replies(200, '[{"result":1},{}]', 2)).toEqual([value(1), unknown('unknown', 'HTTP 200')])
  })

  it('of status 400 has the server’s own error, which is each call’s', () => {
    const error = { type: 'error', message: 'NOSCRIPT No matching script' }
    expect(replies(400, '{"error":"NOSCRIPT No matching script"}')).toEqual([error])
    expect(replies(400, '{"error":"NOSCRIPT No matching script"}', 2)).toEqual([error, error])
    expect(replies(400, '<h1>Bad Request</h1>')).toEqual([unknown('unknown', 'HTTP 400')])
    expect(replies(400, '{"result":1}')).toEqual([unknown('unknown', 'HTTP 400')])
  })

  it.each([401, 403])('of status %i says that access is refused, and why', (status) => {
    const message = `The server refused access (HTTP ${status}: WRONGPASS …); check url and token`
    expect(replies(status, '{"error":"WRONGPASS secret"}', 2)).toEqual(Array(2).fill({ type: 'error', message }))
    expect(replies(status, '<html>')).toMatchObject([{ type: 'error', message: expect.stringContaining(`${status}`) }])
  })

  it('of status 429 says that nothing was done', () => {
    expect(replies(429, '', 2)).toEqual(Array(2).fill(unknown('no', 'HTTP 429')))
    expect(replies(429, '{"error":"ERR too many of secret"}')).toEqual([unknown('no', 'HTTP 429: ERR too many of …')])
  })

  it.each([0, 201, 204, 302, 307, 404, 408, 413, 500, 502, 503, 504, 520])(
    'of status %i is none, whatever it says',
    (status) => {
      for (const text of ['', '<html>', '{"error":"upstream timed out"}', '{"result":1}', '[{"result":1}]']) {
        expect(replies(status, text)).toEqual([unknown('unknown', `HTTP ${status}`)])
      }
    },
  )
})
