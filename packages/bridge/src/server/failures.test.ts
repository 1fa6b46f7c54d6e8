import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { startTcpProxy } from '@leasehold/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bridgeToken, startTestBridge, type TestBridge } from '../../test/bridge.ts'

let bridge: TestBridge
let stopping: AbortController
beforeEach(async () => {
  stopping = new AbortController()
  bridge = await startTestBridge({ heartbeatMs: 200, signal: stopping.signal })
})
afterEach(() => bridge[Symbol.asyncDispose]())

const subscribers = async (): Promise<string[]> =>
  String(await bridge.server.command('CLIENT', 'LIST', 'TYPE', 'pubsub'))
    .split('\n')
    .filter((line) => line !== '')

/** A raw client: resolves when the bridge has begun to answer a stream; at once for a poll. */
async function rawRequest(path: string, port = bridge.port): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${bridgeToken}\r\n\r\n`)
  if (path.startsWith('/v1/events')) await once(socket, 'data')
  return socket
}

const holder = { renew: false, ttl: '5m' } as const

test('200 clients that vanish leave nothing, and 5 that stay are told of every release', async () => {
  await bridge.locks.acquire('key-0', holder)
  const healthy = await Promise.all(Array.from({ length: 5 }, () => bridge.stream('key=key-0')))
  for (const { event } of healthy) expect(await event()).toMatch(/^state /)
  const streams = await Promise.all(Array.from({ length: 100 }, (_, at) => rawRequest(`/v1/events?key=key-${at % 20}`)))
  for (let at = 0; at < 20; at++) await bridge.locks.tryAcquire(`key-${at}`, holder)
  const polls = await Promise.all(
    Array.from({ length: 100 }, (_, at) => rawRequest(`/v1/wait?key=key-${at % 20}&since=-`)),
  )
  await bridge.opened('waits', 100)
  await bridge.opened('streams', 105)
  for (const socket of [...streams, ...polls]) socket.resetAndDestroy()
  await bridge.opened('streams', 5)
  await bridge.opened('waits', 0)
  await bridge.locks.revoke('key-0')
  for (const { event } of healthy) expect(await event()).toBe('release {"key":"key-0"}')
  expect(await subscribers()).toEqual([expect.stringMatching(/ sub=0 psub=1 /)])
})

test('a half-open client does not keep the next one from being woken', async () => {
  await bridge.locks.acquire('a', holder)
  await using dead = await startTcpProxy({ port: bridge.port })
  await rawRequest('/v1/wait?key=a&since=-', dead.port)
  await bridge.opened('waits', 1)
  dead.blackHole()
  // A poll that knows the holder triggers no check of its own, so only a wake-up can answer it.
  const known = (await bridge.wait('a', '-', '&timeout=2s')).headers.get('leasehold-cursor') ?? ''
  expect(known).toMatch(/^\d+$/)
  const alive = bridge.wait('a', known)
  await bridge.opened('waits', 2)
  const releasedAt = performance.now()
  await bridge.locks.revoke('a')
  expect((await alive).status).toBe(200)
  expect(performance.now() - releasedAt).toBeGreaterThan(450)
  // Much less than its poll's own 25 s.
  expect(performance.now() - releasedAt).toBeLessThan(10_000)
})

test('a half-open long poll is forgotten when its time is up', async () => {
  await bridge.locks.acquire('a', holder)
  await using dead = await startTcpProxy({ port: bridge.port })
  await rawRequest('/v1/wait?key=a&since=-&timeout=500ms', dead.port)
  await bridge.opened('waits', 1)
  dead.blackHole()
  await bridge.opened('waits', 0)
})

test('a reader that does not read keeps nothing from the others, and is told of what it missed when it reads', async () => {
  const key = 'x'.repeat(500)
  const healthy = await bridge.stream(`key=${key}`)
  expect(await healthy.event()).toMatch(/^state /)
  const slow = await rawRequest(`/v1/events?key=${key}`)
  slow.pause()
  const publish = "for i = 1, 1000 do redis.call('PUBLISH', ARGV[1], 'released 1') end"
  for (let round = 0; round < 5; round++) {
    await bridge.server.command('EVAL', publish, 0, `lock:release:${key}`)
    expect(await healthy.event()).toBe(`release {"key":"${key}"}`)
  }
  let text = ''
  slow.on('data', (bytes) => {
    text += bytes
  })
  slow.resume()
  await expect.poll(() => text).toContain(`event: release\ndata: {"key":"${key}"}\n\n`)
  // One at once, then one every 50 ms.
  expect(text.split('event: release').length).toBeLessThan(1_000)
  expect(bridge.open('streams')).toBe(2)
})

test('a Redis that is restarted empty wakes those who wait, as the locks are free', async () => {
  const lease = await bridge.locks.acquire('a', holder)
  const stream = await bridge.stream('key=a')
  expect(await stream.event()).toMatch(/^state .*"held":true/)
  const poll = bridge.wait('a', String(lease.fence))
  await bridge.opened('waits', 1)
  await bridge.server.restart()
  expect((await poll).status).toBe(200)
  expect(await stream.event()).toBe('release {"key":"a"}')
  expect(bridge.checks()['reconnected']).toBe(1)
})

test('a release that nobody could hear, because the connection was cut, is found when it is back', async () => {
  const lease = await bridge.locks.acquire('a', holder)
  const poll = bridge.wait('a', String(lease.fence))
  await bridge.opened('waits', 1)
  await expect.poll(bridge.checks).toEqual({ 'first-waiter': 1 })
  bridge.network.refuse()
  bridge.network.cut()
  await lease.release()
  await bridge.network.accept()
  const acceptedAt = performance.now()
  expect(await (await poll).json()).toEqual({ changed: true })
  expect(performance.now() - acceptedAt).toBeLessThan(10_000)
})

test('a Redis that stays away sends everyone off, to come back; and when it is back they can', async () => {
  await bridge.locks.acquire('a', holder)
  const stream = await bridge.stream('key=a')
  await stream.event()
  const poll = bridge.wait('a', '-')
  await bridge.opened('waits', 1)
  bridge.network.refuse()
  bridge.network.cut()
  const sentOff = await poll
  expect([sentOff.status, sentOff.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await stream.event()).toBeUndefined()
  const refused = await Promise.all([bridge.wait('a', '-'), bridge.request('/v1/events?key=a')])
  for (const { status, headers } of refused) expect([status, headers.get('retry-after')]).toEqual([503, '1'])
  expect((await bridge.request('/readyz')).status).toBe(503)
  expect((await bridge.request('/healthz')).status).toBe(200)
  await bridge.network.accept()
  await expect.poll(async () => (await bridge.request('/readyz')).status).toBe(200)
  expect((await bridge.wait('a', '-', '&timeout=50ms')).status).toBe(204)
})

test('a bridge that stops answers polls with 503, ends streams, and leaves no connection to Redis that listens', async () => {
  await bridge.locks.acquire('a', holder)
  const stream = await bridge.stream('key=a')
  await stream.event()
  const poll = bridge.wait('a', '-')
  await bridge.opened('waits', 1)
  expect(await subscribers()).toHaveLength(1)
  stopping.abort()
  const sentOff = await poll
  expect([sentOff.status, sentOff.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await stream.event()).toBeUndefined()
  expect((await bridge.wait('a', '-')).status).toBe(503)
  expect((await bridge.request('/readyz')).status).toBe(503)
  await expect.poll(subscribers).toEqual([])
})
