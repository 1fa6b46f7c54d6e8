import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { bridgeNotifier } from '@leasehold/bridge-client'
import { createLocker, type Lease, type Locker } from '@leasehold/core'
import type { ReleaseNotifier, Subscription } from '@leasehold/core/adapter'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { type BridgeProgram, startBridgeProgram } from '../../packages/bridge/test/program.ts'
import type { Ending, FrozenHere, Order, Places, Seen, Way } from '../support/frozen-function.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, eventually, limit, rounds } from '../support/scale.ts'

/*
 * A function's process is frozen, as Lambda and Vercel do between invocations, and thawed long after its leases are
 * over. SIGSTOP does the same: nothing in the process runs, its connections stay open, and its clocks go on.
 */

const ttlMs = rounds(10_000, 1_500)
const frozenMs = rounds(150_000, 3_000)
/** How soon something that has already happened is noticed. */
const atOnceMs = limit(250)
const promptMs = limit(1_000)
/** A waiter pauses for up to 2 s before it reconnects. */
const afterPauseMs = limit(3_000)
const longWaitMs = 4 * frozenMs + 60_000
const timeoutMs = 4 * frozenMs + 120_000
const ways = ['tcp', 'sse', 'long-poll'] as const

let stack: AsyncDisposableStack
let gateway: TestGateway
let bridge: BridgeProgram
/** Other callers, in a process that keeps running. */
let others: Locker
/** Checks past all caches what the thawed function could have done to them. */
let stored: (key: string) => Promise<unknown>
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  gateway = stack.use(await startTestGateway())
  bridge = stack.use(await startBridgeProgram(gateway.server.url))
  const redis = quiet(new Redis(gateway.server.url))
  stack.defer(() => redis.disconnect())
  others = createLocker({ store: ioredisStore(redis), notifier: ioredisNotifier(redis), ttl: '10m', wait: '5m' })
  stack.defer(() => others.close({ grace: 0 }))
  stored = (key) => redis.get(`lock:${key}`)
})
afterAll(() => stack.disposeAsync())

interface Answer {
  readonly id: number
  readonly value?: unknown
  readonly error?: string
}

interface FrozenFunction {
  ask<T>(job: Order['job'], key: string, ms?: number): Promise<T>
  /** Resolves when nothing in the process runs anymore. */
  freeze(): Promise<void>
  isFrozen(): boolean
  /** Returns the time of the thaw, in milliseconds since the epoch. */
  thaw(): number
  /** Ends all its connections. */
  cut(): void
  /** Resolves with its exit code, if it ends by itself. */
  end(): Promise<number | null>
}

async function start(way: Way): Promise<FrozenFunction> {
  const target = { redis: gateway.server.port, gateway: new URL(gateway.url).port, bridge: bridge.port }
  const proxies: TcpProxy[] = []
  const proxied = async (port: number | string): Promise<number> => {
    const proxy = stack.use(await startTcpProxy({ port: Number(port) }))
    proxies.push(proxy)
    return proxy.port
  }
  const places: Places = {
    way,
    redisPort: await proxied(target.redis),
    gateway: { url: `http://127.0.0.1:${await proxied(target.gateway)}`, token },
    bridge: { url: `http://127.0.0.1:${await proxied(target.bridge)}`, token: bridge.token },
  }
  const child: ChildProcess = fork(new URL('../support/frozen-function.ts', import.meta.url), [JSON.stringify(places)])
  stack.defer(() => {
    child.kill('SIGKILL')
  })
  const answers = new Map<number, (answer: Answer) => void>()
  child.on('message', (answer: Answer) => answers.get(answer.id)?.(answer))
  await once(child, 'message')
  let orders = 0
  return {
    ask: (job, key, ms = 0) =>
      new Promise((resolve, reject) => {
        const id = ++orders
        answers.set(id, ({ value, error }) =>
          error ? reject(new Error(`${job} ${key}: ${error}`)) : resolve(value as never),
        )
        child.send({ id, job, key, ms } satisfies Order)
      }),
    async freeze(this: FrozenFunction) {
      child.kill('SIGSTOP')
      await eventually(() => this.isFrozen())
    },
    isFrozen: () => /\) T /.test(readFileSync(`/proc/${child.pid}/stat`, 'utf8')),
    thaw() {
      const at = Date.now()
      child.kill('SIGCONT')
      return at
    },
    cut() {
      for (const proxy of proxies) proxy.cut()
    },
    async end() {
      const ended = once(child, 'exit')
      child.send('end')
      return (await ended)[0] as number | null
    },
  }
}

/** Takes a lock as soon as it is available; returns how long that took. */
async function rival(key: string, from = performance.now()): Promise<{ lease: Lease; waitedMs: number }> {
  const lease = await others.acquire(key)
  return { lease, waitedMs: performance.now() - from }
}

/** The lease still belongs to its holder, in the store as well. */
async function isUntouched({ lease }: { readonly lease: Lease }): Promise<boolean> {
  lease.assertValid()
  return (await stored(lease.key)) === lease.token
}

describe.concurrent.each(ways)('a function that is frozen, by %s', (way) => {
  test(
    'has lost what it held when it thaws, before it could trust it, and takes nothing from who came after',
    async () => {
      const frozen = await start(way)
      const [taken, alone, worked, kept] = [`${way}:taken`, `${way}:alone`, `${way}:worked`, `${way}:kept`]
      await Promise.all([taken, alone].map((key) => frozen.ask('hold', key, ttlMs)))
      await frozen.ask('hold', kept, 4 * frozenMs)
      const keptAs = await stored(kept)
      const working = frozen.ask<Ending>('work', worked, ttlMs)
      await eventually(() => frozen.ask<boolean>('isWorking', worked))

      await frozen.freeze()
      const rivals = await Promise.all([taken, worked].map((key) => rival(key)))
      // It held others up for as long as its leases lasted, and no longer.
      for (const { waitedMs } of rivals) expect(waitedMs).toBeLessThan(ttlMs + limit(500))
      await elapse(frozenMs - ttlMs)
      const checking = frozen.ask<Seen>('check', taken)
      const thawedAt = frozen.thaw()

      const byClock = expect.stringMatching(/^(?:expired|unreachable)$/)
      expect(await checking).toMatchObject({ remainingMs: 0, code: 'LEASE_LOST', reason: byClock })
      // Nobody asked about this one before.
      expect((await frozen.ask<Seen>('check', alone)).lostAt).toBeLessThan(thawedAt + atOnceMs)
      await frozen.ask('finish', worked)
      expect(await working).toMatchObject({ code: 'LEASE_LOST', result: { result: 'done' } })
      expect(await frozen.ask('release', taken)).toBe('superseded')
      // A lease with time left still has it.
      expect((await frozen.ask<Seen>('check', kept)).code).toBeUndefined()

      // Longer than any renewal would take.
      await elapse(ttlMs / 2)
      for (const each of rivals) expect(await isUntouched(each)).toBe(true)
      expect(await stored(alone)).toBe(null)
      expect(await frozen.ask('release', alone)).toBe('expired')
      expect(await stored(kept)).toBe(keptAs)
      expect(await frozen.ask('release', kept)).toBe('released')
      expect(await frozen.ask('rejections', '')).toEqual([])
      expect(await frozen.end()).toBe(0)
    },
    timeoutMs,
  )

  test(
    'knows it in the very next statement when it is frozen in the middle of its work',
    async () => {
      const frozen = await start(way)
      const key = `${way}:middle`
      const going = frozen.ask<FrozenHere>('freezeHere', key, ttlMs)
      await eventually(() => frozen.isFrozen())
      // What it had asked for is held for nobody until its ttl is over; the same goes, at most, for what it had begun
      // to release.
      const keys = ['here', 'left', 'try-0', 'try-1', 'try-2', 'try-3'].map((each) => `${key}:${each}`)
      const rivals = await Promise.all(keys.map((each) => rival(each)))
      for (const { waitedMs } of rivals) expect(waitedMs).toBeLessThan(ttlMs + limit(500))
      await elapse(frozenMs - ttlMs)
      frozen.thaw()

      const { seen, tries, left } = await going
      expect(seen).toMatchObject({ remainingMs: 0, code: 'LEASE_LOST' })
      expect(tries).not.toContain('granted')
      expect(['released', 'expired', 'superseded', 'unknown']).toContain(left)
      await elapse(ttlMs / 2)
      for (const each of rivals) expect(await isUntouched(each)).toBe(true)
      expect(await frozen.ask('rejections', '')).toEqual([])
    },
    timeoutMs,
  )

  test(
    'goes on waiting when it thaws, if time is left, and holds up nobody who waits for the same lock',
    async () => {
      const frozen = await start(way)
      const [freed, busy, both] = [`${way}:freed`, `${way}:busy`, `${way}:both`]
      const [heldFreed, , heldBoth] = await Promise.all([freed, busy, both].map((key) => others.acquire(key)))
      const waits = [freed, busy, both].map((key) =>
        frozen.ask<Ending>('take', key, key === busy ? frozenMs : longWaitMs),
      )
      for (const key of [freed, both]) await eventually(() => frozen.ask<boolean>('isHeard', key))
      await using awake = awakeWaiter(way, both)
      await awake.heard

      await frozen.freeze()
      await heldFreed?.release()
      await heldBoth?.release()
      const releasedAt = performance.now()
      const lease = await awake.acquiring
      // A poll that does not react to its turn loses it to the next after 500 ms.
      expect(performance.now() - releasedAt).toBeLessThan(promptMs)
      await lease.release()
      await elapse(frozenMs)
      const thawedAt = frozen.thaw()

      const [tookFreed, gaveUp, tookBoth] = (await Promise.all(waits)) as [Ending, Ending, Ending]
      for (const { code, at } of [tookFreed, tookBoth]) {
        expect(code).toBeUndefined()
        expect(at).toBeLessThan(thawedAt + promptMs)
      }
      expect(gaveUp.code).toBe('ACQUIRE_TIMEOUT')
      expect(gaveUp.at).toBeLessThan(thawedAt + promptMs)
      expect(await frozen.ask('rejections', '')).toEqual([])
    },
    timeoutMs,
  )

  test(
    'connects again when it thaws without its connections, and is woken at once again',
    async () => {
      const frozen = await start(way)
      const [freed, next] = [`${way}:cut`, `${way}:next`]
      const [held, later] = await Promise.all([freed, next].map((key) => others.acquire(key)))
      const taking = frozen.ask<Ending>('take', freed, longWaitMs)
      await eventually(() => frozen.ask<boolean>('isHeard', freed))
      await frozen.freeze()
      frozen.cut()
      await held?.release()
      await elapse(frozenMs)
      const thawedAt = frozen.thaw()
      const { code, at } = await taking
      expect(code).toBeUndefined()
      expect(at).toBeLessThan(thawedAt + afterPauseMs)

      const waiting = frozen.ask<Ending>('take', next, longWaitMs)
      await eventually(() => frozen.ask<boolean>('isHeard', next))
      const releasedAt = Date.now()
      await later?.release()
      expect((await waiting).at).toBeLessThan(releasedAt + promptMs)
      expect(await frozen.ask('rejections', '')).toEqual([])
      expect(await frozen.end()).toBe(0)
    },
    timeoutMs,
  )
})

/** Another waiter for the same lock, in the same way, that is not frozen. */
function awakeWaiter(
  way: Way,
  key: string,
): AsyncDisposable & { readonly acquiring: Promise<Lease>; readonly heard: Promise<void> } {
  const redis = quiet(new Redis(gateway.server.port))
  const { url } = bridge
  const notifier = way === 'tcp' ? ioredisNotifier(redis) : bridgeNotifier({ url, token: bridge.token, mode: way })
  let subscription: Subscription | undefined
  const seen: ReleaseNotifier = {
    ...notifier,
    subscribe(...about) {
      subscription = notifier.subscribe(...about)
      return subscription
    },
  }
  const awake = createLocker({ store: ioredisStore(redis), notifier: seen, recheck: '10m', wait: longWaitMs })
  return {
    acquiring: awake.acquire(key),
    heard: eventually(() => subscription?.live === true),
    async [Symbol.asyncDispose]() {
      await awake.close({ grace: 0 })
      redis.disconnect()
    },
  }
}
