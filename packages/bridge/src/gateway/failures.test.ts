import type { Redis } from '@upstash/redis'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { startTestGateway, type TestGateway } from '../../test/gateway.ts'
import type { ConnectionChange } from '../bin/ioredis-connection.ts'
import { ioredisGateway } from '../bin/ioredis-gateway.ts'

const deadlineMs = 800
/** How much longer a loaded machine may take, in milliseconds. */
const marginMs = 5_000

let gateway: TestGateway
let client: Redis
beforeEach(async () => {
  gateway = await startTestGateway({ deadlineMs, heartbeatMs: 50 })
  client = gateway.client()
  await client.ping()
})
afterEach(() => gateway[Symbol.asyncDispose]())

/** The error of a call, and how long it took. */
async function failure(call: Promise<unknown>): Promise<{ message: string; ms: number }> {
  const start = performance.now()
  const outcome = await call.then((value) => `it answered ${value}`).catch((error: Error) => error)
  if (!(outcome instanceof Error)) throw new Error(outcome)
  expect(outcome.name).toBe('UpstashError')
  return { message: outcome.message, ms: performance.now() - start }
}
const connections = async (): Promise<number> =>
  String(await gateway.server.command('CLIENT', 'LIST'))
    .trim()
    .split('\n').length - 1

describe('a Redis that stands still', () => {
  test('costs each request its deadline and no more, and works again afterwards', async () => {
    gateway.server.pause()
    for (const call of [
      () => client.set('a', 1),
      () => client.pipeline().get('a').get('b').exec(),
      () => client.multi().get('a').exec(),
    ]) {
      const { message, ms } = await failure(call())
      expect(message).toMatch(/^(UNANSWERED|UNAVAILABLE) /)
      expect(ms).toBeLessThan(deadlineMs + marginMs)
    }
    gateway.server.resume()
    await expect.poll(() => client.ping().catch(() => 'not yet')).toBe('PONG')
  })

  test('does not get later what was asked when it was already known to stand still', async () => {
    gateway.server.pause()
    expect((await failure(client.incr('first'))).message).toMatch(/^UNANSWERED .*may have been carried out/)
    // The connection has been dropped by now; these wait for a new one, and get the true answer.
    const later = await Promise.all(Array.from({ length: 20 }, () => failure(client.incr('later'))))
    for (const { message } of later) expect(message).toMatch(/^UNAVAILABLE .*nothing was carried out/)
    gateway.server.resume()
    await expect.poll(() => client.ping().catch(() => 'not yet')).toBe('PONG')
    expect(await client.get('later')).toBeNull()
  })

  test('makes it not ready, while it is still healthy', async () => {
    gateway.server.pause()
    const ready = await fetch(`${gateway.url}/readyz`)
    expect([503, 504]).toContain(ready.status)
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200)
    gateway.server.resume()
    await expect.poll(async () => (await fetch(`${gateway.url}/readyz`)).status).toBe(200)
  })

  test('lets no subscription begin', async () => {
    gateway.server.pause()
    const response = await gateway.request('/subscribe/a')
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    gateway.server.resume()
    // On the same connection, so Redis has processed whatever was sent before.
    const next = await gateway.request('/subscribe/b')
    expect(next.status).toBe(200)
    expect(await gateway.server.command('PUBSUB', 'CHANNELS')).toEqual(['b'])
    await next.body?.cancel()
  })
})

describe('a Redis that is gone', () => {
  test('is waited for until the deadline, and then certainly not asked', async () => {
    await gateway.server.kill()
    const { message, ms } = await failure(client.incr('n'))
    expect(message).toMatch(/^UNAVAILABLE /)
    expect(ms).toBeLessThan(deadlineMs + marginMs)
    const refused = await gateway.request('/incr/n')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    const notReady = await fetch(`${gateway.url}/readyz`)
    expect([notReady.status, notReady.headers.get('retry-after')]).toEqual([503, '1'])
    await gateway.server.restart()
    await expect.poll(() => client.get('n').catch(() => 'not yet')).toBeNull()
  })

  test('and comes back within the deadline is not noticed', async () => {
    await using patient = await startTestGateway({ deadlineMs: 10_000 })
    await patient.client().ping()
    patient.network.refuse()
    patient.network.cut()
    const asked = vi.spyOn(patient.redis, 'pipeline')
    const answer = patient.client().incr('n')
    await expect.poll(() => asked.mock.calls).toHaveLength(1)
    await patient.network.accept()
    expect(await answer).toBe(1)
  })

  test('after it was asked leaves it unknown, at once; nothing is sent twice', async () => {
    const dropped = gateway.network.dropNextReply('cut')
    const { message } = await failure(client.incr('n'))
    await dropped
    expect(message).toMatch(/^UNANSWERED .*may have been carried out/)
    await expect.poll(() => client.get('n').catch(() => 'not yet')).toBe(1)

    await client.multi().ping().exec()
    const lost = gateway.network.dropNextReply('cut')
    expect((await failure(client.multi().incr('n').incr('n').exec())).message).toMatch(/^UNANSWERED /)
    await lost
    await expect.poll(() => client.get('n').catch(() => 'not yet')).toBe(3)
  })

  test('and restarts: subscriptions are back by themselves, and say so', async () => {
    const events: string[] = []
    const subscriber = client.subscribe<string>(['a'])
    subscriber.on('subscribe', () => events.push('subscribed'))
    subscriber.on('message', ({ message }) => events.push(message))
    const patterns = client.psubscribe<string>(['p*']) as unknown as typeof subscriber
    patterns.on('psubscribe' as 'subscribe', () => events.push('psubscribed'))
    await expect.poll(() => events.toSorted()).toEqual(['psubscribed', 'subscribed'])
    await gateway.server.restart()
    await expect.poll(() => events.toSorted()).toHaveLength(4)
    expect(await client.publish('a', 'again')).toBe(1)
    await expect.poll(() => events.at(-1)).toBe('again')
    await subscriber.unsubscribe()
    await patterns.unsubscribe()
    await expect.poll(() => gateway.server.command('PUBSUB', 'CHANNELS')).toEqual([])
    await expect.poll(() => gateway.server.command('PUBSUB', 'NUMPAT')).toBe(0)
  })

  test('without a word is noticed by who only listens', async () => {
    const events: string[] = []
    const subscriber = client.subscribe<string>(['a'])
    subscriber.on('subscribe', () => events.push('subscribed'))
    await expect.poll(() => events).toEqual(['subscribed'])
    const { accepted } = gateway.network
    gateway.network.blackHole()
    await expect.poll(() => gateway.network.accepted).toBeGreaterThan(accepted)
    gateway.network.cut()
    gateway.network.restore()
    await expect.poll(() => events).toEqual(['subscribed', 'subscribed'])
    await subscriber.unsubscribe()
  })

  test('lets who comes meanwhile wait until it is back, and forgets who left meanwhile', async () => {
    const leave = new AbortController()
    const first = await gateway.request('/subscribe/a', { signal: leave.signal })
    gateway.network.refuse()
    gateway.network.cut()
    // The first request already has the subscription, but nobody may be told that it is confirmed while it is not.
    const second = await gateway.request('/subscribe/a')
    expect(second.status).toBe(503)
    leave.abort()
    await first.body?.cancel().catch(() => undefined)
    await gateway.network.accept()
    const third = await gateway.request('/subscribe/b')
    expect(third.status).toBe(200)
    expect(await gateway.server.command('PUBSUB', 'CHANNELS')).toEqual(['b'])
    await third.body?.cancel()
  })
})

describe('a client that leaves', () => {
  test('while Redis is silent ends the request, and nothing hangs', async () => {
    const silence = gateway.network.holdReplies()
    const asked = gateway.network.nextRequest()
    const leave = new AbortController()
    const request = gateway.request('/incr/n', { signal: leave.signal })
    await asked
    leave.abort()
    await expect(request).rejects.toMatchObject({ name: 'AbortError' })
    silence()
    expect(await client.get('n')).toBe(1)
    expect(await connections()).toBeLessThanOrEqual(2)
  })

  test('while there is no connection takes its command along', async () => {
    gateway.network.refuse()
    gateway.network.cut()
    const leave = new AbortController()
    const asked = vi.spyOn(gateway.redis, 'pipeline')
    const request = gateway.request('/incr/n', { signal: leave.signal })
    await expect.poll(() => asked.mock.calls).toHaveLength(1)
    leave.abort()
    await expect(request).rejects.toMatchObject({ name: 'AbortError' })
    await gateway.network.accept()
    await expect.poll(() => client.get('n').catch(() => 'not yet')).toBeNull()
  })
})

test('when it is told to stop, streams end and new requests are refused', async () => {
  const stop = new AbortController()
  const stopping = await startTestGateway({ signal: stop.signal })
  const stream = await stopping.request('/subscribe/a')
  stop.abort()
  expect(await stream.text()).toBe('data: subscribe,a,1\n\n')
  const refused = await stopping.request('/get/a')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  expect((await fetch(`${stopping.url}/readyz`)).status).toBe(503)
  await stopping[Symbol.asyncDispose]()
})

test('when it is told to stop, a stream that is not confirmed yet is refused at once', async () => {
  const stop = new AbortController()
  await using stopping = await startTestGateway({ signal: stop.signal, deadlineMs: 60_000 })
  stopping.network.refuse()
  const asked = vi.spyOn(stopping.redis, 'subscribe')
  const stream = stopping.request('/subscribe/a')
  await expect.poll(() => asked.mock.calls).toHaveLength(1)
  stop.abort()
  expect((await stream).status).toBe(503)
  await stopping.network.accept()
})

test('Redis that refuses a subscription says so to the client', async () => {
  await gateway.server.command('ACL', 'SETUSER', 'default', 'resetchannels')
  const errors: Error[] = []
  const subscriber = client.subscribe(['a'])
  subscriber.on('error', (error: Error) => errors.push(error))
  await expect.poll(() => errors).toEqual([expect.objectContaining({ message: expect.stringMatching(/^NOPERM /) })])
  await gateway.server.command('ACL', 'SETUSER', 'default', 'allchannels')
  const allowed = client.subscribe(['a'])
  await new Promise((resolve) => allowed.on('subscribe', resolve))
  await allowed.unsubscribe()
})

test('a reply that nests too deep to be read costs the connection, not the gateway, and the reason is told', async () => {
  const changes: ConnectionChange[] = []
  const redis = ioredisGateway(gateway.server.url, { unansweredMs: 5_000, onChange: (change) => changes.push(change) })
  try {
    const { signal } = new AbortController()
    const script = 'local t = {} for _ = 1, 7000 do t = { t } end return t'
    await expect(redis.pipeline([['EVAL', script, '0']], signal)).rejects.toMatchObject({ executed: 'unknown' })
    expect(await redis.pipeline([['PING']], signal)).toEqual([Buffer.from('PONG')])
    expect(changes).toContainEqual({ connected: false, reason: 'a reply nests too deep to be read' })
  } finally {
    redis.close()
  }
})
