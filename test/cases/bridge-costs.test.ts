import { backoff, createLocker, type Locker, type LockerOptions, poll } from '@leasehold/core'
import { ioredisStore, ioredisSubscriber } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpServer, listen } from '../../packages/bridge/src/bin/http-server.ts'
import { ioredisGateway } from '../../packages/bridge/src/bin/ioredis-gateway.ts'
import { createGateway } from '../../packages/bridge/src/gateway/index.ts'
import { createBridge } from '../../packages/bridge/src/server/index.ts'
import { type BridgeNotifierOptions, bridgeNotifier } from '../../packages/bridge-client/src/index.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, eventually, ms } from '../support/scale.ts'
import { type CountedWay, countedWay } from '../support/script-calls.ts'

/*
 * What waiting costs Redis, in script calls: those of the client, which reaches its store and bridge only over HTTP,
 * and those of the bridge. Each has its own way to Redis, on which they are counted.
 */

const token = 'costs-4f1d20-0123456789abcdef01234'
/** How often a waiter asks by itself if its notifier checks for it: every 30 s. */
const recheckMs = ms(30_000)

let server: RedisServer
let direct: Redis
let holder: Locker
const ends: (() => unknown)[] = []
beforeAll(async () => {
  server = await startRedis()
  direct = quiet(new Redis(server.port))
  holder = createLocker({ store: ioredisStore(direct), ttl: '10m', renew: false })
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
  direct.disconnect()
  await server.stop()
})

/** The store as one client reaches it: over HTTP. */
async function clientWay(): Promise<{ readonly way: CountedWay; locker(options?: Partial<LockerOptions>): Locker }> {
  const way = await countedWay(server.port)
  const redis = ioredisGateway(`redis://127.0.0.1:${way.port}`, { unansweredMs: 5_000 })
  const http = await listen(createGateway({ redis, tokens: [token] }), { host: '127.0.0.1', port: 0 })
  ends.push(
    () => way[Symbol.asyncDispose](),
    redis.close,
    () => http.close(0),
  )
  const store = fetchStore({ url: http.url, token })
  const locker = (options: Partial<LockerOptions> = {}): Locker => {
    const made = createLocker({ store, wait: '120s', ttl: '60s', renew: false, ...options })
    ends.push(() => made.close({ grace: 1 }))
    return made
  }
  // A script that the server does not know yet would be sent twice.
  await locker().withLock('warm', () => undefined)
  return { way, locker }
}

interface Bridge {
  readonly way: CountedWay
  readonly url: string
  /** Resolves when nobody waits anymore, and a check that had started before has been counted. */
  left(): Promise<void>
  /** Returns the status. */
  wait(key: string, since: string | number | null, timeout: string): Promise<number>
}

async function startBridge(): Promise<Bridge> {
  const way = await countedWay(server.port)
  const redis = quiet(new Redis(way.port))
  const open = { waits: 0, streams: 0 }
  const app = createBridge({
    store: ioredisStore(redis),
    subscriber: ioredisSubscriber(redis),
    auth: { tokens: [token] },
    onEvent: (event) => {
      if (event.type === 'waits' || event.type === 'streams') open[event.type] = event.open
    },
  })
  const http: HttpServer = await listen(app, { host: '127.0.0.1', port: 0 })
  ends.push(
    () => way[Symbol.asyncDispose](),
    () => redis.disconnect(),
    () => http.close(0),
  )
  const headers = { authorization: `Bearer ${token}` }
  const wait = async (key: string, since: string | number | null, timeout: string): Promise<number> => {
    const answer = await fetch(`${http.url}/v1/wait?key=${key}&since=${since}&timeout=${timeout}`, { headers })
    await answer.text()
    return answer.status
  }
  expect(await wait('warm', '-', '1s')).toBe(200)
  return { way, url: http.url, wait, left: () => eventually(() => open.waits + open.streams === 0) }
}

/** A client that waits through a bridge, and how many script calls each has made since the last time. */
async function throughBridge(mode: BridgeNotifierOptions['mode'] & string) {
  const [client, bridge] = [await clientWay(), await startBridge()]
  const notifier = () => bridgeNotifier({ url: bridge.url, token, mode })
  return {
    name: `bridge, ${mode}`,
    calls: counter(client.way, bridge.way),
    locker: () => client.locker({ notifier: notifier(), recheck: recheckMs }),
    left: bridge.left,
    bridge,
  }
}

async function polling(name: string, strategy: LockerOptions['strategy'] & object) {
  const client = await clientWay()
  return { name, calls: counter(client.way), locker: () => client.locker({ strategy }), left: async () => undefined }
}

function counter(client: CountedWay, bridge?: CountedWay): () => { client: number; bridge: number } {
  let before = { client: 0, bridge: 0 }
  return () => {
    const now = { client: client.scriptCalls, bridge: bridge?.scriptCalls ?? 0 }
    const since = { client: now.client - before.client, bridge: now.bridge - before.bridge }
    before = now
    return since
  }
}

/** Redis' own count of all of them. */
async function scriptsAtRedis(): Promise<number> {
  const stats = String(await server.command('INFO', 'commandstats'))
  return [...stats.matchAll(/cmdstat_(?:eval|evalsha):calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0)
}

/** The least and most rechecks in a wait of about that time. */
const rechecksIn = (waitMs: number): readonly [least: number, most: number] => [
  Math.max(0, Math.floor((waitMs - 500) / recheckMs)),
  Math.floor((waitMs + 1_000) / recheckMs),
]

/**
 * How many additional checks a slow machine may cost since then. The bridge checks again when a timer was a millisecond
 * early, and when a woken waiter has not taken the lock and left; but never more often than every 250 ms.
 */
const checksSince = (dueAt: number): number => Math.max(0, Math.floor((performance.now() - dueAt) / 240))

describe('a contended acquire', () => {
  it.each([1_000, 10_000, 60_000])(
    'that waits %i ms costs its client 2 calls, and one for 30 s of waiting; the bridge one',
    async (literalMs) => {
      const waitMs = ms(literalMs)
      const waiters = await Promise.all([
        throughBridge('sse'),
        throughBridge('long-poll'),
        polling('poll each 50 ms', poll({ every: '50ms' })),
        polling('back-off', backoff()),
      ])
      const key = (which: number): string => `costs-${literalMs}-${which}`
      const held = await Promise.all(waiters.map((_, which) => holder.acquire(key(which))))
      const before = await scriptsAtRedis()
      for (const { calls } of waiters) calls()
      const acquiring = waiters.map(({ locker }, which) => locker().acquire(key(which)))
      await elapse(waitMs)
      const releasedAt = performance.now()
      await Promise.all(held.map((lease) => lease.release()))
      const leases = await Promise.all(acquiring)
      await Promise.all(waiters.map(({ left }) => left()))
      const more = checksSince(releasedAt)
      const counts = waiters.map(({ name, calls }) => ({ name, ...calls() }))
      // The holder releases all in one turn, so with one command.
      const all = counts.reduce((sum, { client, bridge }) => sum + client + bridge, 1)

      const shown = counts.map(({ name, client, bridge }) => `${name}: ${client} + ${bridge}`)
      console.log(`wait of ${waitMs} ms, calls by the client + by the bridge: ${shown.join(' · ')}`)
      expect((await scriptsAtRedis()) - before).toBe(all)
      expect(leases.map(({ commands }) => commands)).toEqual(counts.map(({ client }) => client))
      const [least, most] = rechecksIn(waitMs)
      const bridged = counts.slice(0, 2)
      for (const { client, bridge } of bridged) {
        expect(client).toBeGreaterThanOrEqual(2 + least)
        expect(client).toBeLessThanOrEqual(2 + most)
        expect(bridge).toBeGreaterThanOrEqual(1)
        expect(bridge).toBeLessThanOrEqual(1 + more)
      }
      if (literalMs >= 10_000) {
        const dearest = Math.max(...bridged.map(({ client, bridge }) => client + bridge))
        expect(counts[2]?.client).toBeGreaterThan(5 * dearest)
        expect(counts[3]?.client).toBeGreaterThan(dearest)
      }
      await Promise.all(leases.map((lease) => lease.release()))
    },
    120_000,
  )
})

/** Each of these has its own client and bridge, which are counted; they run side by side, since they mostly wait. */
const inTurn = { concurrent: false }

describe.concurrent.each(['sse', 'long-poll'] as const)('by %s', (mode) => {
  let waiter: Awaited<ReturnType<typeof throughBridge>>
  beforeAll(async () => {
    waiter = await throughBridge(mode)
    waiter.calls()
  })

  it('a holder that renews costs the bridge one check for each remaining time that it has seen', inTurn, async () => {
    const key = `renewed-${mode}`
    const [ttlMs, heldMs] = [ms(10_000), ms(30_000)]
    const held = await holder.acquire(key, { ttl: ttlMs, renew: true })
    const acquiring = waiter.locker().acquire(key)
    await elapse(heldMs)
    const releasedAt = performance.now()
    await held.release()
    await acquiring
    await waiter.left()
    const more = checksSince(releasedAt)
    const { client, bridge } = waiter.calls()
    console.log(`${mode}: ${client} + ${bridge} calls in ${heldMs} ms, ttl ${ttlMs} ms`)
    expect(client).toBeLessThanOrEqual(2 + rechecksIn(heldMs)[1])
    // It is renewed every ttl/3, so a check sees between 2/3 of the ttl and all of it.
    expect(bridge).toBeGreaterThanOrEqual(1 + Math.floor((heldMs - 500) / ttlMs))
    expect(bridge).toBeLessThanOrEqual(1 + Math.ceil(heldMs / ((ttlMs * 2) / 3 - 250)) + more)
  })

  it('a holder without expiry costs the bridge one check', inTurn, async () => {
    const key = `foreign-${mode}`
    await direct.set(`lock:${key}`, 'of-another-library')
    const acquiring = waiter.locker().acquire(key)
    await elapse(ms(10_000))
    const releasedAt = performance.now()
    await direct.multi().del(`lock:${key}`).publish(`lock:release:${key}`, 'released 1').exec()
    await acquiring
    await waiter.left()
    const more = checksSince(releasedAt)
    const { client, bridge } = waiter.calls()
    expect(client).toBe(2)
    expect(bridge).toBeGreaterThanOrEqual(1)
    expect(bridge).toBeLessThanOrEqual(1 + more)
  })

  it('a holder that dies costs the bridge one check more, when its time is over', inTurn, async () => {
    const key = `dead-${mode}`
    await holder.acquire(key, { ttl: '2s' })
    const endsAt = performance.now() + 2_000
    await waiter.locker().acquire(key)
    await waiter.left()
    const more = checksSince(endsAt)
    const { client, bridge } = waiter.calls()
    expect(client).toBe(2)
    expect(bridge).toBeGreaterThanOrEqual(2)
    expect(bridge).toBeLessThanOrEqual(2 + more)
  })
})

describe.concurrent('long polls of one key', () => {
  let waiter: Awaited<ReturnType<typeof throughBridge>>
  beforeAll(async () => {
    waiter = await throughBridge('long-poll')
    waiter.calls()
  })

  it(
    'of ten clients cost each of them 2 calls and one for its release, and the bridge one check in all',
    inTurn,
    async () => {
      const held = await holder.acquire('crowd')
      const times: number[] = []
      const serving = Array.from({ length: 10 }, async () => {
        const lease = await waiter.locker().acquire('crowd')
        times.push(performance.now())
        await elapse(20)
        await lease.release()
      })
      await elapse(ms(5_000))
      times.push(performance.now())
      await held.release()
      await Promise.all(serving)
      // On a machine so slow that a waiter does not take the lock within its turn of 500 ms, the next one is asked.
      const late = times.sort((a, b) => a - b).filter((at, turn) => at - (times[turn - 1] ?? at) > 400).length
      const { client, bridge } = waiter.calls()
      expect(client).toBeGreaterThanOrEqual(30)
      expect(client).toBeLessThanOrEqual(30 + late)
      expect(bridge).toBeLessThanOrEqual(1 + late)
    },
  )

  it('cost the bridge a check for each turn that nobody has taken', inTurn, async () => {
    const held = await holder.acquire('handed-off')
    const polls = [1, 2, 3, 4].map(() => waiter.bridge.wait('handed-off', held.fence, '20s'))
    await elapse(ms(1_000))
    expect(waiter.calls().bridge).toBe(1)
    await held.release()
    // Nobody takes it, so 500 ms later the next two have the turn, and then the last.
    expect(await Promise.all(polls)).toEqual([200, 200, 200, 200])
    expect(waiter.calls().bridge).toBe(2)
  })

  it('that are sent again within 5 s cost the bridge no further check', inTurn, async () => {
    const held = await holder.acquire('again')
    for (let polls = 0; polls < 5; polls++) expect(await waiter.bridge.wait('again', held.fence, '200ms')).toBe(204)
    expect(waiter.calls().bridge).toBe(1)
    await held.release()
  })
})
