import { expect, it } from 'vitest'
import { callUntil } from '../call-until.ts'
import { freshKey, patient, script, value } from './transport-calls.ts'
import type { UseTransport } from './transport-under-test.ts'

const exists = "return redis.call('EXISTS', KEYS[1])"
const write = "redis.call('SET', KEYS[1], '1', 'PX', 10000) return 'written'"

/** Keeps the server busy for 600 ms by its clock, or by counting if the clock stands still within a script. */
const busy = `
  local function micros() local time = redis.call('TIME') return time[1] * 1000000 + time[2] end
  local start = micros()
  for i = 1, 1500000 do
    if micros() - start > 600000 then break end
  end
  return ARGV[1]`

export function abortClaims(use: UseTransport): void {
  it('an aborted run settles at once, and every call without an answer is unknown', async (context) => {
    const transport = use(context, 'busy-server')
    const controller = new AbortController()
    // One key, so that on a cluster all calls go to the same server.
    const key = freshKey()
    const running = transport.run([script(busy, ['1'], key), script(busy, ['2'], key)], callUntil(controller.signal))
    let abortedAtMs = Infinity
    const timer = setTimeout(() => {
      abortedAtMs = performance.now()
      controller.abort(new Error('given up'))
    }, 20)
    const replies = await running
    const settledAtMs = performance.now()
    clearTimeout(timer)
    expect(controller.signal.aborted, 'it settled only when it was aborted').toBe(true)
    // At once: the server, which each call keeps busy for longer than this, has not answered yet.
    expect(settledAtMs - abortedAtMs).toBeLessThan(300)
    expect(replies).toHaveLength(2)
    expect(replies[1]).toMatchObject({ type: 'unknown', executed: 'unknown' })
  })

  it('after an abort, later calls get their own replies', async (context) => {
    const transport = use(context, 'busy-server')
    const controller = new AbortController()
    const key = freshKey()
    const aborted = transport.run([script(busy, ['late'], key)], callUntil(controller.signal))
    setTimeout(() => controller.abort(), 20)
    await aborted
    for (const text of ['first', 'second']) {
      const replies = await transport.run([script('return ARGV[1]', [text], key)], callUntil(patient()))
      expect(replies).toMatchObject([{ type: 'value', value: text }])
    }
  })

  it('a run that is aborted before it begins is answered unknown at once', async (context) => {
    const replies = await use(context).run([script(write), script(write)], callUntil(AbortSignal.abort()))
    expect(replies).toHaveLength(2)
    for (const reply of replies) expect(reply.type).toBe('unknown')
  })

  it('what is answered as not executed is not executed later', async (context) => {
    const transport = use(context)
    const key = freshKey()
    const [reply] = await transport.run([script(write, [], key)], callUntil(AbortSignal.abort()))
    // This call takes the same way, so whatever was sent before it has been carried out before it.
    const [found] = await transport.run([script(exists, [], key)], callUntil(patient()))
    const saidNo = reply?.type === 'unknown' && reply.executed === 'no'
    expect({ saidNo, found }).not.toEqual({ saidNo: true, found: value(1) })
  })

  it('an abort after the answer changes nothing', async (context) => {
    const controller = new AbortController()
    const replies = await use(context).run([script("return 'answered'")], callUntil(controller.signal))
    controller.abort()
    expect(replies).toEqual([value('answered')])
  })
}
