import { inspect } from 'node:util'
import type { ScriptCall, ScriptReply } from '@leasehold/core/redis'
import { callUntil, type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { Redis, type RedisConfigNodejs } from '@upstash/redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startTestGateway, type TestGateway } from '../test/gateway.ts'
import { upstashTransport } from './upstash-transport.ts'

/*
 * Each hazard as a pair: a plain call of the client hits it, the transport over that same client does not.
 */

const secret = 'orders-7.0123456789abcdef0123456789abcdef.1700000000000000'
const value = (of: unknown): ScriptReply => ({ type: 'value', value: of, resent: false })
const never = new AbortController().signal
const increment = "return redis.call('INCR', KEYS[1])"

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

const connect = (config: Partial<RedisConfigNodejs> = {}): Redis =>
  new Redis({ url: proxy.url, token: gateway.token, ...config })
/** A client whose calls are not gathered into pipelines. */
const connectPlain = (config: Partial<RedisConfigNodejs> = {}): Redis =>
  connect({ enableAutoPipelining: false, ...config })

async function ours(redis: Redis, body: string, args: string[] = [], key = 'ours', signal = never): Promise<unknown> {
  const call: ScriptCall = { command: 'EVAL', body, keys: [key], args }
  return (await upstashTransport(redis).run([call], callUntil(signal)))[0]
}

describe('the client sends again by itself', () => {
  it.each([
    ['by default', {}],
    ['with retry: false', { retry: false as const }],
  ])('%s, also what was carried out; ours is sent once', async (_, config) => {
    const redis = connect(config)
    const dropped = [proxy.dropNextReply('cut'), proxy.dropNextReply('cut')]
    expect(await ours(redis, increment)).toMatchObject({ type: 'unknown', executed: 'unknown' })
    expect(await redis.eval(increment, ['naive'], [])).toBe(2)
    await Promise.all(dropped)
    // By now the client has paused and sent again; ours, sent earlier, would also have been sent again.
    expect(await gateway.redis.command('MGET', 'naive', 'ours')).toEqual(['2', '1'])
  })
})

describe('the client takes an abort for an answer', () => {
  it('resolving with null; ours says that it does not know', async () => {
    const controller = new AbortController()
    const redis = connectPlain({ signal: controller.signal })
    const dropped = [proxy.dropNextReply('silence'), proxy.dropNextReply('silence')]
    const naive = redis.eval(increment, ['naive'], [])
    const own = new AbortController()
    const reply = ours(redis, increment, [], 'ours', own.signal)
    await Promise.all(dropped)
    controller.abort()
    own.abort()
    expect(await naive).toBeNull()
    expect(await reply).toMatchObject({ type: 'unknown', executed: 'unknown' })
    expect(await gateway.redis.command('MGET', 'naive', 'ours')).toEqual(['1', '1'])
  })

  it('for ever after; ours goes on, since a lease has to be given back', async () => {
    const redis = connectPlain({ signal: AbortSignal.abort() })
    expect(await redis.eval(increment, ['naive'], [])).toBeNull()
    expect(await ours(redis, increment)).toEqual(value(1))
  })
})

describe('the client decodes what looks like JSON', () => {
  it.each(['123', '1783024000123456', 'null', 'true', '{"a":1}'])('%s; ours stays text', async (text) => {
    const redis = connect()
    expect(await redis.eval('return ARGV[1]', [], [text])).toEqual(JSON.parse(text))
    expect(await ours(redis, 'return ARGV[1]', [text])).toEqual(value(text))
  })
})

describe('the client gathers calls into pipelines', () => {
  it('so that they fail together; ours goes by itself', async () => {
    const redis = connect()
    proxy.answerNext({ status: 502, body: '<html>' })
    const together = await Promise.allSettled([redis.set('users', '1'), redis.eval(increment, ['naive'], [])])
    expect(together.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(proxy.requests).toEqual({ '/pipeline': 1 })

    const arrived = proxy.nextRequest()
    const reply = ours(redis, increment)
    const users = redis.set('users', '1')
    await arrived
    expect([await reply, await users]).toEqual([value(1), 'OK'])
    expect(proxy.requests).toEqual({ '/': 1, '/pipeline': 2 })
  })
})

describe('the client puts the whole command into its errors', () => {
  const failing = "return redis.error_reply('ERR odd: ' .. ARGV[1])"

  it('tokens included; ours has the server’s text and no argument', async () => {
    const redis = connectPlain()
    await expect(redis.eval(failing, ['a'], [secret])).rejects.toThrow(secret)
    const reply = await ours(redis, failing, [secret])
    expect(reply).toMatchObject({ type: 'error', message: expect.stringMatching(/^ERR odd/) })
    expect(inspect(reply, { depth: 10, showHidden: true })).not.toContain(secret)
  })

  it('and has lost the status, so that a proxy’s error looks like the server’s; ours is unknown', async () => {
    const redis = connectPlain()
    const overloaded = { status: 503, body: '{"error":"upstream timed out"}' }
    proxy.answerNext(overloaded)
    await expect(redis.eval(increment, ['naive'], [secret])).rejects.toMatchObject({
      name: 'UpstashError',
      message: expect.stringMatching(/^upstream timed out, command was/),
    })
    proxy.answerNext(overloaded)
    expect(await ours(redis, increment, [secret])).toMatchObject({
      type: 'unknown',
      executed: 'unknown',
      cause: { message: expect.stringContaining('HTTP 503: upstream timed out') },
    })
  })

  it('or a page that is no JSON; ours names the status', async () => {
    const redis = connectPlain()
    const page = { status: 502, body: '<html>Bad gateway</html>' }
    proxy.answerNext(page)
    await expect(redis.eval(increment, ['naive'], [])).rejects.toThrow('Unable to parse response body')
    proxy.answerNext(page)
    expect(await ours(redis, increment)).toMatchObject({
      type: 'unknown',
      executed: 'unknown',
      cause: { message: expect.stringContaining('HTTP 502') },
    })
  })
})

describe('the client lets middleware see its requests', () => {
  it('and each would see tokens; ours pass it by, and leave the client as it was', async () => {
    const redis = connect()
    const seen: unknown[] = []
    redis.use((request, next) => {
      seen.push(request.body)
      return next(request)
    })
    const before = inspect(redis, { depth: 10, showHidden: true })
    expect(await ours(redis, increment, [secret])).toEqual(value(1))
    expect(seen).toEqual([])
    expect(inspect(redis, { depth: 10, showHidden: true })).toBe(before)
    await redis.get('users')
    expect(seen).toHaveLength(1)
  })
})
