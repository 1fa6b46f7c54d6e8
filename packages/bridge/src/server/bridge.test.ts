import type { AcquireOutcome } from '@leasehold/core/adapter'
import { callUntil } from '@leasehold/testkit'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { linesOf, startTestBridge, type TestBridge } from '../../test/bridge.ts'

let bridge: TestBridge
beforeAll(async () => {
  bridge = await startTestBridge({ heartbeatMs: 200 })
})
afterAll(() => bridge[Symbol.asyncDispose]())

/** The cursor that a locker would get from a contended acquire. */
async function cursorOf(key: string): Promise<string> {
  const request = { key, acquisitionId: 'f'.repeat(32), ttlMs: 10_000, fences: 1 }
  const [outcome] = (await bridge.store.acquire([request], callUntil(new AbortController().signal))) as [AcquireOutcome]
  if (outcome.type !== 'held') throw new Error(`It was not refused but ${outcome.type}`)
  return outcome.cursor
}

test('a long poll of a free lock is answered at once', async () => {
  const response = await bridge.wait('free', '1700000000000000')
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ changed: true })
  expect(response.headers.get('cache-control')).toBe('no-store')
})

test('a long poll is answered when the lock is released', async () => {
  const lease = await bridge.locks.acquire('released')
  const answer = bridge.wait('released', await cursorOf('released'))
  await bridge.opened('waits', 1)
  await lease.release()
  expect(await (await answer).json()).toEqual({ changed: true })
})

test('a long poll is answered when the lock is revoked', async () => {
  await bridge.locks.acquire('revoked', { renew: false })
  const answer = bridge.wait('revoked', await cursorOf('revoked'))
  await bridge.opened('waits', 1)
  await bridge.locks.revoke('revoked')
  expect((await answer).status).toBe(200)
})

test('a long poll is answered when its holder has died', async () => {
  const diesAt = performance.now() + 2_000
  await bridge.locks.acquire('dies', { renew: false, ttl: '2s' })
  expect((await bridge.wait('dies', await cursorOf('dies'))).status).toBe(200)
  // Much less than the poll's own 25 s.
  expect(performance.now() - diesAt).toBeLessThan(10_000)
})

test('a long poll of a lock that stays held ends with 204 and the cursor of the present holder', async () => {
  await using _ = await bridge.locks.acquire('stays')
  const response = await bridge.wait('stays', '1700000000000000', '&timeout=2s')
  expect(response.status).toBe(204)
  expect(response.headers.get('leasehold-cursor')).toBe(await cursorOf('stays'))
})

test('a lock that another library holds, without a fence and without expiry, is waited for as well', async () => {
  await bridge.server.command('SET', 'lock:foreign', 'somebody')
  expect(await cursorOf('foreign')).toBe('-')
  const unchanged = await bridge.wait('foreign', '-', '&timeout=200ms')
  expect([unchanged.status, unchanged.headers.get('leasehold-cursor')]).toEqual([204, '-'])
  const answer = bridge.wait('foreign', '-')
  await bridge.opened('waits', 1)
  await bridge.locks.revoke('foreign')
  expect((await answer).status).toBe(200)
})

test('a release between two polls is not missed', async () => {
  const lease = await bridge.locks.acquire('between')
  const cursor = await cursorOf('between')
  expect((await bridge.wait('between', cursor, '&timeout=50ms')).status).toBe(204)
  await lease.release()
  expect(await (await bridge.wait('between', cursor)).json()).toEqual({ changed: true })
})

test('a stream opens with the state of each key and is told of every release of them, and of no other', async () => {
  const lease = await bridge.locks.acquire('stream:held', { ttl: '30s' })
  const { response, event, close } = await bridge.stream('key=stream%3Aheld&key=stream%3Afree&key=stream%3Afree')
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(response.headers.get('x-accel-buffering')).toBe('no')
  const states = [await event(), await event()].sort()
  expect(states[0]).toBe('state {"key":"stream:free","held":false,"cursor":"-","expiresInMs":null}')
  const state = JSON.parse(states[1]?.slice('state '.length) ?? '') as { expiresInMs: number }
  expect(state).toEqual({
    key: 'stream:held',
    held: true,
    cursor: String(lease.fence),
    expiresInMs: expect.any(Number),
  })
  expect(state.expiresInMs).toBeGreaterThan(25_000)
  await (await bridge.locks.acquire('stream:other')).release()
  await lease.release()
  expect(await event()).toBe('release {"key":"stream:held"}')
  await (await bridge.locks.acquire('stream:free')).release()
  expect(await event()).toBe('release {"key":"stream:free"}')
  close()
  await bridge.opened('streams', 0)
})

test('a quiet stream sends comments, and says when to come back', async () => {
  const client = new AbortController()
  const line = linesOf(await bridge.request('/v1/events?key=quiet', { signal: client.signal }))
  onTestFinished(() => client.abort())
  const lines: (string | undefined)[] = []
  // On a busy machine, heartbeats may come before the key's state, which has to be read first.
  while (lines.filter((each) => each === ': heartbeat').length < 2) {
    lines.push(await line())
    expect(lines.at(-1)).toBeDefined()
  }
  expect(lines[0]).toBe('retry: 1000')
  client.abort()
  await bridge.opened('streams', 0)
})

test('one release answers one of two long polls, and every stream', async () => {
  const lease = await bridge.locks.acquire('shared')
  const cursor = await cursorOf('shared')
  const streams = await Promise.all([1, 2].map(() => bridge.stream('key=shared')))
  for (const { event } of streams) expect(await event()).toMatch(/^state .*"held":true/)
  const answered: number[] = []
  const first = bridge.wait('shared', cursor).then(() => answered.push(1))
  await bridge.opened('waits', 1)
  const second = bridge.wait('shared', cursor, '&timeout=3s').then(() => answered.push(2))
  await bridge.opened('waits', 2)
  await lease.release()
  await using _ = await bridge.locks.acquire('shared')
  for (const { event } of streams) expect(await event()).toBe('release {"key":"shared"}')
  await first
  await second
  expect(answered).toEqual([1, 2])
  expect(bridge.checks()['passed-on']).toBeGreaterThan(0)
  for (const { close } of streams) close()
  await bridge.opened('streams', 0)
})

test.each(['glob*[a-z]?\\', 'ünï🔑 space', 'a+b&c=d', '{42}:x'])('the key %j is the same key here', async (key) => {
  const lease = await bridge.locks.acquire(key)
  const answer = bridge.wait(key, await cursorOf(key))
  await bridge.opened('waits', 1)
  await lease.release()
  expect((await answer).status).toBe(200)
})

test('a key with which there can be no lock is refused', async () => {
  const response = await bridge.wait('a}', '-')
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ status: 400, detail: 'There can be no lock with this key' })
})

test('a prefix with glob characters is meant literally', async () => {
  await using other = await startTestBridge({ prefix: 'l*[o]?k\\:' })
  const lease = await other.locks.acquire('a')
  const { event } = await other.stream('key=a')
  expect(await event()).toMatch(/^state .*"held":true/)
  await other.server.command('PUBLISH', 'lxxok:release:a', 'released 1')
  await lease.release()
  expect(await event()).toBe('release {"key":"a"}')
  expect(other.events.filter(({ type }) => type === 'release-seen')).toHaveLength(1)
})

test('a bridge with another prefix than the locks answers every poll at once, with one check each at most', async () => {
  await using wrong = await startTestBridge({ prefix: 'wrong:', lockPrefix: 'lock:' })
  await using _ = await wrong.locks.acquire('a')
  for (let polls = 0; polls < 3; polls++) expect((await wrong.wait('a', '1')).status).toBe(200)
  expect(wrong.checks()).toEqual({ 'first-waiter': 3 })
})

test('one connection listens, by one pattern, for all who wait', async () => {
  const list = String(await bridge.server.command('CLIENT', 'LIST', 'TYPE', 'pubsub'))
    .trim()
    .split('\n')
  expect(list).toEqual([expect.stringMatching(/ sub=0 psub=1 /)])
})
