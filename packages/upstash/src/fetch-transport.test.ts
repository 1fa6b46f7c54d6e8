import { createServer } from 'node:net'
import { inspect } from 'node:util'
import type { ScriptCall, ScriptReply } from '@leasehold/core/redis'
import { callUntil, type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startTestGateway, type TestGateway } from '../test/gateway.ts'
import { fetchTransport } from './fetch-transport.ts'
import type { Fetch } from './rest-endpoint.ts'

const secret = 'orders-7.0123456789abcdef0123456789abcdef.1700000000000000'
const script = (body: string, ...args: string[]): ScriptCall => ({ command: 'EVAL', body, keys: ['lock:a'], args })
const increment = script("return redis.call('INCR', KEYS[1])", secret)
const value = (of: unknown): ScriptReply => ({ type: 'value', value: of, resent: false })
const unknown = (executed: 'no' | 'unknown', about: RegExp): unknown =>
  expect.objectContaining({
    type: 'unknown',
    executed,
    cause: expect.objectContaining({ message: expect.stringMatching(about) }),
  })
const never = new AbortController().signal

let gateway: TestGateway
let proxy: HttpProxy
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(async () => {
  await gateway.redis.command('FLUSHALL')
  proxy = await startHttpProxy({ target: gateway.url })
})
afterEach(() => proxy.stop())

function run(calls: readonly ScriptCall[], signal = never, fetch?: Fetch): Promise<readonly ScriptReply[]> {
  const endpoint = { url: proxy.url, token: gateway.token }
  return fetchTransport(fetch ? { ...endpoint, fetch } : endpoint).run(calls, callUntil(signal))
}
const count = (): Promise<unknown> => gateway.redis.command('GET', 'lock:a')

describe('a request of fetchTransport', () => {
  it('is one, to / for one call and to /pipeline for several', async () => {
    expect(await run([increment])).toEqual([value(1)])
    expect(proxy.requests).toEqual({ '/': 1 })
    expect(await run([increment, script('return {}'), increment])).toEqual([value(2), value([]), value(3)])
    expect(proxy.requests).toEqual({ '/': 1, '/pipeline': 1 })
    expect(await run([])).toEqual([])
    expect(proxy.requests).toEqual({ '/': 1, '/pipeline': 1 })
  })

  it('has the token in its header, and asks to be stored nowhere', async () => {
    const arrived = proxy.nextRequest()
    await run([script('return 1', 'ü')])
    const { method, headers, body } = await arrived
    expect([method, body]).toEqual(['POST', '["EVAL","return 1",1,"lock:a","ü"]'])
    expect(headers).toMatchObject({ authorization: `Bearer ${gateway.token}`, 'cache-control': 'no-store' })
  })

  it('keeps the path of the URL', async () => {
    const { token } = gateway
    await fetchTransport({ url: `${proxy.url}/redis/`, token }).run([increment], callUntil(never))
    await fetchTransport({ url: `${proxy.url}/redis`, token }).run([increment, increment], callUntil(never))
    expect(proxy.requests).toEqual({ '/redis': 1, '/redis/pipeline': 1 })
  })

  it('is sent by a function called as one, found when it is needed', async () => {
    const seen: unknown[] = []
    async function send(this: unknown, ...[url, request]: Parameters<Fetch>): ReturnType<Fetch> {
      seen.push(this, request.cache)
      return fetch(url, request)
    }
    expect(await run([increment], never, send)).toEqual([value(1)])
    expect(seen).toEqual([undefined, 'no-store'])
  })

  it('is carried no further by a redirect, nor is the token', async () => {
    await using elsewhere = await startHttpProxy({ target: gateway.url })
    for (const status of [302, 307]) {
      proxy.answerNext({ status, headers: { location: elsewhere.url } })
      expect(await run([increment])).toEqual([unknown('unknown', new RegExp(`HTTP ${status}`))])
    }
    expect([elsewhere.requests, await count()]).toEqual([{}, null])
  })

  it('is sent once, also over a connection that was used before and is lost with the reply', async () => {
    await run([increment])
    for (let round = 0; round < 2; round++) {
      const dropped = proxy.dropNextReply('cut')
      expect(await run([increment])).toEqual([unknown('unknown', /^The request failed/)])
      await dropped
    }
    expect(await run([increment])).toEqual([value(4)])
    expect(proxy.forwarded).toEqual({ '/': 4 })
  })
})

describe('an abort', () => {
  it('before the call sends nothing', async () => {
    expect(await run([increment, increment], AbortSignal.abort())).toEqual([unknown('no', /./), unknown('no', /./)])
    expect(await run([script('return 1')])).toEqual([value(1)])
    expect([await count(), proxy.requests]).toEqual([null, { '/': 1 }])
  })

  it('after it was sent leaves the outcome unknown, at once, and ends the request', async () => {
    const controller = new AbortController()
    const dropped = proxy.dropNextReply('silence')
    let request: Promise<unknown> | undefined
    const replies = run([increment], controller.signal, (...args) => {
      const answer = fetch(...args)
      request = answer
      return answer
    })
    await dropped
    controller.abort()
    expect(await replies).toEqual([unknown('unknown', /in time/)])
    await expect(request).rejects.toMatchObject({ name: 'AbortError' })
    expect(await count()).toBe('1')
  })

  it('ends the wait though fetch pays no heed to it, and a late answer is nobody’s', async () => {
    const controller = new AbortController()
    let answer = (_: unknown): void => undefined
    const unheeding = (): Promise<never> => new Promise((resolve) => (answer = resolve as typeof answer))
    const replies = run([increment], controller.signal, unheeding)
    controller.abort()
    expect(await replies).toEqual([unknown('unknown', /in time/)])
    answer(new Response('{"result":1}'))
    expect(await replies).toEqual([unknown('unknown', /in time/)])
  })

  it('is no answer, whatever fetch makes of it', async () => {
    const controller = new AbortController()
    const resolving: Fetch = async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return new Response(JSON.stringify({ result: signal.reason }))
    }
    const replies = run([increment], controller.signal, resolving)
    controller.abort('given up')
    expect(await replies).toEqual([unknown('unknown', /in time/)])
  })
})

describe('no answer', () => {
  it('of a port where nobody listens', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    await new Promise((resolve) => server.close(resolve))
    const { token } = gateway
    const replies = await fetchTransport({ url: `http://127.0.0.1:${port}`, token }).run([increment], callUntil(never))
    expect(replies).toEqual([unknown('unknown', new RegExp(`: fetch failed: connect ECONNREFUSED 127.0.0.1:${port}$`))])
  })

  it('says what is behind the error of fetch, to some depth', async () => {
    const behind = Object.assign(new Error(''), { code: 'ETIMEDOUT' })
    const ring = Object.assign(new Error('round'), { cause: undefined as unknown })
    ring.cause = ring
    for (const [thrown, words] of [
      [new TypeError('fetch failed', { cause: behind }), ': fetch failed: ETIMEDOUT'],
      [ring, ': round'.repeat(4)],
      ['a text', ': a text'],
      [undefined, ''],
    ]) {
      const replies = await run([increment], never, () => Promise.reject(thrown))
      expect(replies).toEqual([unknown('unknown', new RegExp(`^The request failed${words}$`))])
    }
  })

  it('shows nothing of the request, whatever is thrown', async () => {
    for (const thrown of [
      (text: string) => Object.assign(new Error(text, { cause: new Error(text) }), { request: text }),
      (text: string) => text,
      () => null,
    ]) {
      const replies = await run([increment], never, async (_, request) => {
        throw thrown(`cannot send ${request.headers['Authorization']} ${request.body}`)
      })
      expect(replies).toEqual([unknown('unknown', /^The request failed/)])
      const shown = inspect(replies, { depth: 10, showHidden: true })
      expect(shown).not.toContain(secret.slice(0, 20))
      expect(shown).not.toContain(gateway.token)
    }
  })
})
