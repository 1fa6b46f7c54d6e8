import type { ScriptCall, ScriptReply } from '@leasehold/core/redis'
import { describe, expect, it } from 'vitest'
import { repliesOf } from './rest-reply.ts'

const call: ScriptCall = { command: 'EVALSHA', body: 'f'.repeat(40), keys: ['lock:a'], args: [] }
const replies = (status: number, text: string, count = 1, headers?: Headers): readonly ScriptReply[] =>
  repliesOf({ status, ...(headers && { headers }) }, text, Array(count).fill(call), (said) =>
    said.replaceAll('secret', '…'),
  )

const value = (of: unknown): ScriptReply => ({ type: 'value', value: of, resent: false })
/** A refusal; `resent` if it is not certain that the request was not carried out. */
const error = (message: string, resent = false): ScriptReply => ({ type: 'error', message, ...(resent && { resent }) })
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
    expect(replies(200, '[{"result":"123"},{"error":"ERR secret"}]', 2)).toEqual([value('123'), error('ERR …')])
    expect(replies(200, '[{"error":"ERR"},{"result":0}]', 2)).toEqual([error('ERR'), value(0)])
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
    const noScript = error('NOSCRIPT No matching script')
    expect(replies(400, '{"error":"NOSCRIPT No matching script"}')).toEqual([noScript])
    expect(replies(400, '{"error":"NOSCRIPT No matching script"}', 2)).toEqual([noScript, noScript])
  })

  it.each([401, 403])('of status %i refuses access, and says why', (status) => {
    const message = `The server refused (HTTP ${status}: WRONGPASS …); check url and token`
    expect(replies(status, '{"error":"WRONGPASS secret"}', 2)).toEqual([error(message), error(message)])
  })

  it('of status 413 refuses the request for its size', () => {
    expect(replies(413, '{"error":"ERR the body is larger than 9 bytes"}')).toEqual([
      error('The server refused (HTTP 413: ERR the body is larger than 9 bytes); send less'),
    ])
    expect(replies(413, '<html>')).toEqual([error('The server refused (HTTP 413); send less', true)])
  })

  it.each([400, 401, 402, 403, 404, 405, 409, 410, 411, 414, 415, 417, 421, 422, 423, 428, 431, 451, 494])(
    'of status %i by somebody on the way is a refusal, though the request may have been carried out before',
    (status) => {
      const message = `The server refused (HTTP ${status}); check url and token`
      for (const text of ['', '<h1>Not so</h1>', '{"result":1}', '{"message":"no"}']) {
        expect(replies(status, text, 2)).toEqual([error(message, true), error(message, true)])
      }
    },
  )

  it.each([404, 405, 410, 421])('of status %i is not taken for the server’s own word, whatever its form', (status) => {
    expect(replies(status, '{"error":"Not Found"}')).toMatchObject([{ type: 'error', resent: true }])
  })

  it('of status 429 may be to a copy: the request itself may have been carried out before', () => {
    expect(replies(429, '', 2)).toEqual(Array(2).fill(unknown('unknown', 'HTTP 429')))
    expect(replies(429, '{"error":"ERR too many of secret"}')).toEqual([
      unknown('unknown', 'HTTP 429: ERR too many of …'),
    ])
  })

  it.each(['TOOLARGE a reply of 70000 bytes', 'TOODEEP a reply'])(
    'that says %j is to what was carried out',
    (error) => {
      for (const [status, text, count] of [
        [400, JSON.stringify({ error }), 1],
        [200, JSON.stringify([{ error }, { result: 1 }]), 2],
      ] as const) {
        expect(replies(status, text, count)[0]).toMatchObject({ type: 'unknown', executed: 'unknown' })
      }
    },
  )

  it.each([0, 201, 204, 302, 307, 408, 425, 500, 502, 503, 504, 520])(
    'of status %i is none, whatever it says',
    (status) => {
      for (const text of ['', '<html>', '{"error":"upstream timed out"}', '{"result":1}', '[{"result":1}]']) {
        expect(replies(status, text)).toEqual([unknown('unknown', `HTTP ${status}`)])
      }
    },
  )

  describe('that asks to be left alone for a while', () => {
    const after = (said: string, status = 503): unknown => {
      const [reply] = replies(status, '', 1, new Headers({ 'Retry-After': said }))
      return (reply as { retryAfterMs?: number }).retryAfterMs
    }

    it.each([429, 503])('says with status %i for how long, in seconds', (status) => {
      expect(after('2', status)).toBe(2_000)
      expect(after('120', status)).toBe(60_000)
    })

    it.each([408, 500, 502, 504])('but not with status %i', (status) => {
      expect(after('2', status)).toBe(0)
    })

    it('or until when, as a date', () => {
      const inAMinute = after(new Date(Date.now() + 60_000).toUTCString())
      expect(inAMinute).toBeGreaterThan(50_000)
      expect(inAMinute).toBeLessThanOrEqual(60_000)
    })

    it.each(['', '0', 'soon', '-5', '1.5.2', 'Thu, 01 Jan 1970 00:00:00 GMT', 'in 2099', '2099-01-01'])(
      'is asked as usual if it says %j',
      (said) => {
        // A date in the past asks for no pause.
        expect(Math.max(0, after(said) as number)).toBe(0)
      },
    )

    it('and one without headers, or without that one, asks for nothing', () => {
      expect(replies(503, '')).toMatchObject([{ type: 'unknown', retryAfterMs: 0 }])
      expect(replies(503, '', 1, new Headers())).toMatchObject([{ type: 'unknown', retryAfterMs: 0 }])
    })
  })
})
