import { createLocker, type Lease, type Locker, type LockerOptions } from '@leasehold/core'
import { Call } from '@leasehold/core/adapter'
import { fifo, type QueueStore, queueOf } from '@leasehold/core/queue'
import { ioredisBackend, ioredisSubscriber } from '@leasehold/ioredis'
import { fetchStore } from '@leasehold/upstash'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type HttpServer, listen } from '../../packages/bridge/src/bin/http-server.ts'
import { ioredisGateway } from '../../packages/bridge/src/bin/ioredis-gateway.ts'
import { createGateway } from '../../packages/bridge/src/gateway/index.ts'
import { createBridge } from '../../packages/bridge/src/server/index.ts'
import { startTestBridge, type TestBridge, bridgeToken as token } from '../../packages/bridge/test/bridge.ts'
import { type BridgeNotifierOptions, bridgeNotifier } from '../../packages/bridge-client/src/index.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, limit, rounds } from '../support/scale.ts'

/*
 * Queued waiters that speak only HTTP: the bridge keeps the place of each that polls, and tells it of its turn.
 */

const aMinute = rounds(60_000, 6_000)
/** How long an HTTP waiter keeps its turn. */
const windowMs = 6_000

let bridge: TestBridge
let gateway: HttpServer
let redis: ReturnType<typeof ioredisGateway>
let port: QueueStore
/** How many requests the gateway got. */
let commands = 0
let keys = 0
let key: string
const ends: (() => unknown)[] = []

beforeAll(async () => {
  bridge = await startTestBridge()
  redis = ioredisGateway(`redis://127.0.0.1:${bridge.server.port}`, { unansweredMs: 5_000 })
  port = queueOf(bridge.store) as QueueStore
  const counted = new Hono()
  counted.use(async (_, next) => {
    commands++
    await next()
  })
  counted.route('/', createGateway({ redis, tokens: [token] }))
  gateway = await listen(counted, { host: '127.0.0.1', port: 0 })
})
beforeEach(() => {
  key = `queued-${keys++}`
  bridge.events.length = 0
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await bridge.opened('waits', 0)
})
afterAll(async () => {
  await gateway.close(0)
  redis.close()
  await bridge[Symbol.asyncDispose]()
})

const overHttp = () => fetchStore({ url: gateway.url, token })
const poll = { mode: 'long-poll' } as const

/**
 * A separate client, which reaches the store and the bridge over HTTP. With long polls it is like a Worker: each waiter
 * is alone.
 */
function client(notifier: Partial<BridgeNotifierOptions> = poll, options: Partial<LockerOptions> = {}): Locker {
  const locks = createLocker({
    store: overHttp(),
    notifier: bridgeNotifier({ url: bridge.url, token, ...notifier }),
    queue: fifo(),
    wait: '2m',
    ...options,
  })
  ends.push(() => locks.close({ grace: 1 }))
  return locks
}

function server(): Locker {
  const connection = quiet(new Redis(bridge.server.port))
  const locks = createLocker({ ...ioredisBackend(connection), queue: fifo(), wait: '2m' })
  ends.push(async () => {
    await locks.close({ grace: 1 })
    connection.disconnect()
  })
  return locks
}

/** How many wait in the queue. */
const waiting = (): Promise<number> => bridge.server.command('ZCARD', `{lock:${key}}:queue`) as Promise<number>

/** What the bridge's looks have cost so far. */
function looks(): { readonly calls: number; readonly waiters: number } {
  const asked = bridge.events.flatMap((event) => (event.type === 'places-asked' ? [event.waiters] : []))
  return { calls: asked.length, waiters: asked.reduce((sum, each) => sum + each, 0) }
}

/** How many polls the bridge has got in this test. */
function polls(): number {
  const open = bridge.events.flatMap((event) => (event.type === 'waits' ? [event.open] : []))
  return open.filter((count, at) => count > (open[at - 1] ?? 0)).length
}

/** Enters the queue, like a Worker that has not polled yet. Returns the waiter's name. */
async function enter(number: number): Promise<string> {
  const inbox = String(number).padStart(32, '0')
  const waiter = { inbox, number: 1, priorityClass: 0, listens: false, aliveMs: 6_000, windowMs }
  const kind = { name: 'exclusive', capacity: 1 } as const
  const acquisitionId = String(number).padStart(32, 'f')
  const outcome = await port.acquire({ key, kind, permits: 1, acquisitionId, ttlMs: 60_000, waiter }, new Call(5_000))
  expect(outcome.type).toBe('queued')
  return `${inbox}.1`
}

/** Polls as that waiter, and leaves when the signal fires. */
const pollAs = (name: string, signal?: AbortSignal): Promise<Response> =>
  bridge.request(`/v1/wait?key=${key}&since=-&waiter=${name}`, signal && { signal })

/** All of them acquire, one after another, and each releases the lock at once. Resolves with who had it, in order. */
async function inTurn(clients: readonly Locker[], held: Lease, use = async (): Promise<void> => undefined) {
  const order: number[] = []
  const requests: number[] = []
  const before = await waiting()
  const acquiring: Promise<unknown>[] = []
  for (const [index, locks] of clients.entries()) {
    const acquired = locks.acquire(key).then(async (lease) => {
      order.push(index)
      requests.push(lease.commands)
      await lease.release()
    })
    // The last line reports it.
    acquired.catch(() => undefined)
    acquiring.push(acquired)
    await expect.poll(waiting, { interval: 1 }).toBe(before + index + 1)
  }
  await use()
  const releasedAt = performance.now()
  await held.release()
  await Promise.all(acquiring)
  return { order, requests, tookMs: performance.now() - releasedAt }
}

const inOrder = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

it('waits a minute at the cost of two store commands and a poll each 25 s, and takes its turn at once', async () => {
  const held = await server().acquire(key, { ttl: '2m' })
  commands = 0
  const acquiring = client().acquire(key)
  await bridge.opened('waits', 1)
  // Would be first if the place were lost.
  const next = server().acquire(key)
  await elapse(aMinute)
  const { calls } = looks()
  const releasedAt = performance.now()
  await held.release()
  const lease = await acquiring
  const tookMs = performance.now() - releasedAt
  console.log(
    `${aMinute} ms: ${commands} store commands, ${polls()} polls, ${calls} looks by the bridge, turn taken after ${tookMs.toFixed(1)} ms`,
  )
  expect([lease.commands, commands]).toEqual([2, 2])
  // The first is shorter: until it is answered, the client does not know that the bridge keeps its place.
  expect(polls()).toBe(1 + Math.ceil((aMinute - 4_000) / 25_000))
  expect(calls).toBeLessThanOrEqual(aMinute / 1_700 + 3)
  expect(calls).toBeGreaterThanOrEqual(aMinute / 2_100 - 1)
  expect(tookMs).toBeLessThan(limit(100))
  await lease.release()
  await (await next).release()
})

it('waiters over TCP and over HTTP have their turns in one order', async () => {
  const held = await server().acquire(key, { ttl: '1m' })
  const kinds = [() => client(), () => server(), () => client({ mode: 'sse' })]
  const clients = inOrder(rounds(30, 9)).map((index) => (kinds[index % 3] as () => Locker)())
  const { order, tookMs } = await inTurn(clients, held)
  console.log(`${order.length} turns in ${tookMs.toFixed(0)} ms`)
  expect(order).toEqual(inOrder(clients.length))
  expect(tookMs).toBeLessThan(limit(100 * clients.length))
})

it('a hundred waiters through one bridge have their turns in order, at two store commands and a poll each 25 s', async () => {
  const sinceMs = performance.now()
  const count = rounds(100, 100)
  const held = await server().acquire(key, { ttl: '1m' })
  commands = 0
  const clients = inOrder(count).map(() => client())
  const { order, requests, tookMs } = await inTurn(clients, held, async () => {
    await bridge.opened('waits', count)
    // A first poll is short, since the client does not know yet that the bridge keeps places.
    await elapse(5_000)
    const before = looks()
    const sinceAt = performance.now()
    await elapse(4_000)
    const seconds = (performance.now() - sinceAt) / 1_000
    const after = looks()
    const perSecond = (what: 'calls' | 'waiters'): string => ((after[what] - before[what]) / seconds).toFixed(1)
    console.log(`${count} waiters of one key: ${perSecond('calls')} calls a second, ${perSecond('waiters')} looks`)
    expect(after.calls - before.calls).toBeLessThan(4 * seconds)
  })
  console.log(`${count} turns in ${tookMs.toFixed(0)} ms, ${commands} store commands, ${polls()} polls`)
  expect(order).toEqual(inOrder(count))
  expect(Math.max(...requests)).toBe(2)
  // And a release each.
  expect(commands).toBe(3 * count)
  expect(polls()).toBeLessThanOrEqual(count * (1 + Math.ceil((performance.now() - sinceMs) / 25_000)))
})

it('several waiters of one process share its stream, and hear of their turns by it', async () => {
  const held = await server().acquire(key, { ttl: '1m' })
  const locks = client({ mode: 'sse' })
  const { order, tookMs } = await inTurn(
    inOrder(20).map(() => locks),
    held,
  )
  console.log(`20 turns in ${tookMs.toFixed(0)} ms`)
  expect(order).toEqual(inOrder(20))
  expect(bridge.open('waits')).toBe(0)
  // A look would have been needed for each.
  expect(tookMs).toBeLessThan(limit(1_000))
})

it('a turn answers the poll of its waiter, and nobody else: no other poll, and no stream', async () => {
  const held = await server().acquire(key, { ttl: '1m' })
  const names = [await enter(1), await enter(2)]
  const plain = new AbortController()
  const answered: string[] = []
  const polls = names.map((name) => pollAs(name).then((answer) => answered.push(`${name} ${answer.status}`)))
  const other = bridge
    .request(`/v1/wait?key=${key}&since=1`, { signal: plain.signal })
    .then(() => answered.push('plain'))
  const stream = await bridge.stream(`key=${key}`)
  expect(await stream.event()).toContain('"held":true')
  await bridge.opened('waits', 3)
  await held.release()
  await polls[0]
  expect(answered).toEqual([`${names[0]} 200`])
  const heard = Promise.race([stream.event(), elapse(300)])
  expect(await heard).toBeUndefined()
  expect(answered.length).toBe(1)
  stream.close()
  plain.abort()
  await other.catch(() => undefined)
  await port.leave({ key, inbox: names[0]?.slice(0, 32) ?? '', number: 1, acquisitionId: undefined }, new Call(5_000))
  await polls[1]
  expect(answered[1]).toBe(`${names[1]} 200`)
  await port.leave({ key, inbox: names[1]?.slice(0, 32) ?? '', number: 1, acquisitionId: undefined }, new Call(5_000))
})

it('the bridge is killed and comes back in the middle: everybody gets a turn, in order', async () => {
  const held = await server().acquire(key, { ttl: '1m' })
  const clients = inOrder(5).map(() => client())
  const { order, requests } = await inTurn(clients, held, async () => {
    await bridge.opened('waits', 5)
    bridge.clients.refuse()
    bridge.clients.cut()
    await bridge.opened('waits', 0)
    // Longer than a place survives without being kept.
    await elapse(7_000)
    await bridge.clients.accept()
    await bridge.opened('waits', 5)
  })
  console.log(`requests of each: ${requests.join(' ')}`)
  expect(order).toEqual(inOrder(5))
})

it('a waiter that vanishes holds the others up for its window at most', async () => {
  const held = await server().acquire(key, { ttl: '1m' })
  const gone = new AbortController()
  const vanishing = pollAs(await enter(1), gone.signal).catch(() => undefined)
  await bridge.opened('waits', 1)
  const next = client().acquire(key)
  await bridge.opened('waits', 2)
  gone.abort()
  await vanishing
  await bridge.opened('waits', 1)
  const releasedAt = performance.now()
  await held.release()
  const lease = await next
  const tookMs = performance.now() - releasedAt
  console.log(`the next had it ${tookMs.toFixed(0)} ms after the release, for ${lease.commands} requests`)
  expect(tookMs).toBeGreaterThan(windowMs - 500)
  expect(tookMs).toBeLessThan(limit(windowMs + 200))
  expect(lease.commands).toBe(2)
  await lease.release()
})

it('a turn that nobody announced is found by a look', async () => {
  await bridge.server.command(
    'ACL',
    'SETUSER',
    'mute',
    'reset',
    'on',
    '>mute',
    'allkeys',
    'allchannels',
    '+@all',
    '-publish',
  )
  const mute = quiet(new Redis(bridge.server.port, { username: 'mute', password: 'mute' }))
  ends.push(() => mute.disconnect())
  const held = await createLocker({ ...ioredisBackend(mute), queue: fifo() }).acquire(key, { ttl: '1m' })
  const acquiring = client().acquire(key)
  await expect.poll(() => looks().calls).toBe(1)
  const releasedAt = performance.now()
  await held.release()
  const lease = await acquiring
  const tookMs = performance.now() - releasedAt
  console.log(`found after ${tookMs.toFixed(0)} ms`)
  expect(tookMs).toBeLessThan(limit(2_100))
  expect(lease.commands).toBe(2)
  expect(bridge.events.filter(({ type }) => type === 'turn-seen')).toEqual([])
  await lease.release()
})

it('at a bridge that knows of no queues a waiter keeps its place itself, and is woken all the same', async () => {
  const connection = quiet(new Redis(bridge.server.port))
  const { store } = bridge
  const app = createBridge({
    store: { checkHolders: (requests, call) => store.checkHolders(requests, call), nodeOf: (of) => store.nodeOf(of) },
    subscriber: ioredisSubscriber(connection),
    auth: { tokens: [token] },
  })
  const http = await listen(app, { host: '127.0.0.1', port: 0 })
  ends.push(async () => {
    await http.close(0)
    connection.disconnect()
  })
  const held = await server().acquire(key, { ttl: '1m' })
  const acquiring = client({ ...poll, url: http.url }).acquire(key)
  await expect.poll(waiting).toBe(1)
  const next = server().acquire(key)
  // Longer than a place survives without being kept.
  await elapse(7_000)
  const releasedAt = performance.now()
  await held.release()
  const lease = await acquiring
  const tookMs = performance.now() - releasedAt
  console.log(`${lease.commands} requests, turn taken after ${tookMs.toFixed(0)} ms`)
  expect(tookMs).toBeLessThan(limit(2_000))
  await lease.release()
  await (await next).release()
})
