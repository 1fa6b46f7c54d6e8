import { fileURLToPath } from 'node:url'
import { bridgeNotifier } from '@leasehold/bridge-client'
import { type Clock, createLocker, type Lease, type Locker, systemClock } from '@leasehold/core'
import type { ReleaseNotifier, Subscription } from '@leasehold/core/adapter'
import { ioredisStore } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningProgram, readyUrl, runProgram } from '../../packages/bridge/test/program.ts'
import { type Balancer, startBalancer } from '../support/balancer.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, eventually, limit, ms, rounds } from '../support/scale.ts'

/*
 * Two bridges behind one address are replaced one after the other, while many wait through them and locks are released
 * throughout. Each waiter is like a separate process, with a locker and a notifier: half of them use a stream and half
 * polls.
 */

const count = rounds(1_000, 60)
/** How many start to wait at a time. A waiter whose bridge does not answer within a second would check for itself. */
const opensAtOnce = 20
const releasesEveryMs = ms(10, 30)
/** A client counts a failure as a new one after 10 s without any. */
const wellMs = 11_000
/** How long a stopping bridge waits for answers to be received. */
const graceMs = 5_000

const token = 'rolling-restart-0123456789abcdef0123'
const main = fileURLToPath(new URL('../../packages/bridge/src/bin/bridge.ts', import.meta.url))

let stack: AsyncDisposableStack
let redis: RedisServer
let balancer: Balancer
let connection: Redis
let holders: Locker
let bridges: RunningProgram[]
let ports: readonly number[]
let undisturbed: readonly Woken[]
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  redis = stack.use(await startRedis())
  bridges = [startBridge(0), startBridge(0)]
  stack.defer(() => {
    for (const { child } of bridges) child.kill('SIGKILL')
  })
  ports = await Promise.all(bridges.map(async (bridge) => Number(new URL(await readyUrl(bridge)).port)))
  balancer = stack.use(await startBalancer(ports))
  connection = quiet(new Redis(redis.url))
  stack.defer(() => connection.disconnect())
  holders = createLocker({ store: ioredisStore(connection), ttl: '20m', renew: false })
  undisturbed = await play('left alone', [])
}, 120_000)
afterAll(() => stack.disposeAsync())

function startBridge(port: number): RunningProgram {
  const env = { LEASEHOLD_BRIDGE_REDIS: redis.url, LEASEHOLD_BRIDGE_TOKENS: token }
  return runProgram(main, ['--port', String(port), '--per-client', '10000'], env)
}

async function stop(which: number): Promise<void> {
  const bridge = bridges[which] as RunningProgram
  const stoppedAt = performance.now()
  bridge.child.kill('SIGTERM')
  expect((await bridge.ended).code).toBe(0)
  // It answers everybody, and does not wait until its grace is over.
  expect(performance.now() - stoppedAt).toBeLessThan(graceMs)
}

async function startAgain(which: number): Promise<void> {
  const bridge = startBridge(ports[which] as number)
  bridges[which] = bridge
  await readyUrl(bridge)
}

/** How far the notifiers' clock is ahead, in milliseconds. */
let aheadMs = 0
const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs }

const heardAgain = (waiting: readonly Waiter[]): Promise<void> =>
  eventually(() => waiting.every((waiter) => waiter.isHeard()))

/** Lets time pass without failures; `npm test` does not wait for it. */
async function goesWell(waiting: readonly Waiter[]): Promise<void> {
  await heardAgain(waiting)
  const waitedMs = ms(wellMs) === wellMs ? wellMs : 0
  await elapse(waitedMs)
  aheadMs += wellMs - waitedMs
}

interface Waiter {
  readonly held: Lease
  readonly locks: Locker
  readonly acquiring: Promise<Lease>
  isHeard(): boolean
  /** How often the waiter was notified that the lock may be free. */
  signals(): number
}

/** Starts a waiter for a held lock of its own. */
async function startWaiter(name: string, index: number): Promise<Waiter> {
  const key = `${name}:${index}`
  const held = await holders.acquire(key)
  let subscription: Subscription | undefined
  // In pairs: each bridge has one of a pair.
  const mode = (index >> 1) % 2 === 0 ? 'sse' : 'long-poll'
  const bridged = bridgeNotifier({ url: balancer.url, token, mode, clock })
  const notifier: ReleaseNotifier = {
    ...bridged,
    subscribe(...about) {
      subscription = bridged.subscribe(...about)
      return subscription
    },
  }
  // None should check because it has waited for long.
  const locks = createLocker({ store: ioredisStore(connection), notifier, wait: '90s', recheck: '20m' })
  return {
    held,
    locks,
    acquiring: locks.acquire(key),
    isHeard: () => subscription?.live === true,
    signals: () => subscription?.signals ?? 0,
  }
}

interface Woken {
  /** Milliseconds from the release until the waiter had the lock. */
  readonly ms: number
  readonly commands: number
  readonly signals: number
}

async function release({ held, acquiring, signals }: Waiter): Promise<Woken> {
  const releasedAt = performance.now()
  const granted = acquiring.then(() => performance.now() - releasedAt)
  await held.release()
  const lease = await acquiring
  const woken = { ms: await granted, commands: lease.commands, signals: signals() }
  await lease.release()
  return woken
}

type Step = (waiting: readonly Waiter[]) => Promise<unknown>

/**
 * Starts the waiters, takes the steps, releases locks before, during and after each, and returns how the waiters fared.
 */
async function play(name: string, steps: readonly Step[]): Promise<readonly Woken[]> {
  const waiters: Waiter[] = []
  while (waiters.length < count) {
    const next = Array.from({ length: opensAtOnce }, (_, index) => startWaiter(name, waiters.length + index))
    waiters.push(...(await Promise.all(next)))
    await eventually(() => waiters.every((waiter) => waiter.isHeard()))
  }
  const waiting = [...waiters]
  const woken: Promise<Woken>[] = []
  const share = Math.ceil(count / (steps.length + 2))
  const nothing: Step = async () => undefined
  for (const step of [nothing, ...steps, nothing]) {
    const taken = step(waiting)
    for (const waiter of waiting.splice(0, share)) {
      woken.push(release(waiter))
      await elapse(releasesEveryMs)
    }
    await taken
  }
  for (const waiter of waiting.splice(0)) woken.push(release(waiter))
  const all = await Promise.all(woken)
  await Promise.all(waiters.map(({ locks }) => locks.close()))
  const times = all.map((each) => each.ms).toSorted((a, b) => a - b)
  console.log(
    `${name}: ${all.length} waiters, half of them woken within ${times[count >> 1]?.toFixed()} ms and all within ` +
      `${times.at(-1)?.toFixed()} ms; ${sum(all, 'commands')} tries, ${most(all, 'commands')} at most; ` +
      `${sum(all, 'signals')} signals, ${most(all, 'signals')} at most`,
  )
  return all
}

const most = (woken: readonly Woken[], of: keyof Woken): number => Math.max(...woken.map((each) => each[of]))
const sum = (woken: readonly Woken[], of: keyof Woken): number => woken.reduce((total, each) => total + each[of], 0)

/** The longest pause of a waiter is 2 s. Then all of them connect at once. */
const wokenWithinMs = 2_000 + 2_000

/** Nobody hangs, and nobody is woken more than once in addition to the wake-ups without a restart. */
function expectAllWoken(woken: readonly Woken[]): void {
  expect(woken).toHaveLength(count)
  expect(most(woken, 'ms')).toBeLessThan(limit(wokenWithinMs))
  expect(most(woken, 'signals')).toBeLessThanOrEqual(most(undisturbed, 'signals') + 1)
}

describe(`of ${count} who wait at two bridges behind one address`, () => {
  test('each asks the store twice if nothing happens', () => {
    expect(undisturbed).toHaveLength(count)
    expect(most(undisturbed, 'signals')).toBe(1)
    // More only if one was not answered within a second.
    expect(sum(undisturbed, 'commands')).toBeLessThan(2.5 * count)
  })

  test('none hangs, and hardly any asks once more, while one bridge is replaced and later the other', async () => {
    const steps: readonly Step[] = [() => stop(0), () => startAgain(0), goesWell, () => stop(1), () => startAgain(1)]
    const woken = await play('replaced in turn', steps)
    expectAllWoken(woken)
    expect(sum(woken, 'signals')).toBeLessThan(1.2 * sum(undisturbed, 'signals'))
    expect(sum(woken, 'commands')).toBeLessThan(1.5 * sum(undisturbed, 'commands'))
  }, 300_000)

  test('none hangs while both are replaced in a hurry, and a waiter that is sent off twice checks for itself in between', async () => {
    const steps: readonly Step[] = [() => stop(0), () => startAgain(0), heardAgain, () => stop(1), () => startAgain(1)]
    const woken = await play('replaced in a hurry', steps)
    expectAllWoken(woken)
    // Without a bridge, a waiter's timer decides: at first after 10 ms, in the end every half or whole second.
    expect(most(woken, 'commands')).toBeLessThan(2 + 10 + limit(wokenWithinMs) / 500)
  }, 300_000)
})
