import { startTcpProxy } from '@leasehold/testkit'
import { connectRedisAdmin, type RedisAdmin, type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { leasehold } from './contestants/leasehold.ts'
import { type Crew, startCrew } from './crew/crew.ts'
import { handOffFigures, type Served } from './measure/hand-offs.ts'
import { exponent } from './measure/statistics.ts'
import { type HandOffPlan, type HandOffRun, handOffRun } from './scenarios/hand-off-run.ts'
import { commandsToFirst, costModelExample } from './scenarios/waiting.ts'

/*
 * What hand-off and waiting may cost, as counts: unlike a bench these hold on a machine of any speed. The processes are
 * real ones, with the notifier and the local hand-off.
 */

let server: RedisServer
let admin: RedisAdmin
let crew: Crew
beforeAll(async () => {
  server = await startRedis()
  admin = await connectRedisAdmin({ port: server.port })
  crew = await startCrew(2, leasehold, server.port)
})
afterAll(async () => {
  await crew[Symbol.asyncDispose]()
  await admin.close()
  await server.stop()
})

const run = (processes: number, plan: HandOffPlan): Promise<HandOffRun> =>
  handOffRun(admin, crew.members.slice(0, processes), plan, leasehold.sends)

/** Waiters in another process than the holder's. */
const elsewhere = (member: number): boolean => member === 1

test('who waits behind its own process costs no command', async () => {
  const { commands } = await run(1, { waiters: 100, holdMs: 0, gapMs: 0, heldMs: 1_200 })
  expect(commands.arriving.sent + commands.held.sent).toBe(0)
})

test('a hundred who wait behind another process cost one command a second between them', async () => {
  const { commands } = await run(2, { waiters: 100, holdMs: 0, gapMs: 0, heldMs: 2_100, waitIn: elsewhere })
  // A try, a subscription, the try that closes the gap between the two; then one look a second.
  expect(commands.arriving.sent + commands.held.sent).toBeLessThanOrEqual(3 + 2)
})

test('the first hand-off of the cost model’s example takes 2 commands in one process, where a spin lock takes 1,000', async () => {
  expect(costModelExample).toMatchObject({ waiters: 100, heldMs: 500 })
  expect(await commandsToFirst({ server, admin }, leasehold, 1)).toBeLessThanOrEqual(2)
})

describe('a crowd in one process', () => {
  const crowds = [10, 100, 1_000]
  const runs: HandOffRun[] = []
  beforeAll(async () => {
    for (const waiters of crowds) runs.push(await run(1, { waiters, holdMs: 1, gapMs: 0, heldMs: 50 }))
  })

  test('of 1,000 is served without a failure, and no two hold at once', () => {
    expect(runs.map(({ served }) => served.length)).toEqual(crowds)
    expect(runs.map(({ first, served }) => handOffFigures(first, served).overlaps)).toEqual([0, 0, 0])
  })

  test('of 100 is served with a quarter of a command each', () => {
    expect(runs[1]?.commands.drain.sent).toBeLessThanOrEqual(25)
  })

  test('costs each the same, however many they are', () => {
    const costs = runs.map(({ commands, served }) => [served.length, commands.drain.sent / served.length] as const)
    expect(exponent(costs)).toBeLessThanOrEqual(0.05)
  })

  test('is served in the order of arrival', () => {
    for (const { served } of runs) expect(inversions(served)).toBe(0)
  })
})

describe('a crowd in two processes', () => {
  let done: HandOffRun
  beforeAll(async () => {
    done = await run(2, { waiters: 200, holdMs: 1, gapMs: 0, heldMs: 50 })
  })

  test('is served, those of one process in the order of their arrival', () => {
    expect(done.served).toHaveLength(200)
    expect(handOffFigures(done.first, done.served).overlaps).toBe(0)
    for (const member of [0, 1]) expect(inversions(done.served.filter((waiter) => waiter.member === member))).toBe(0)
  })

  test('hands a grant on at most 16 times before it goes back to the store', () => {
    const shared = grants(done.served)
    expect(Math.max(...shared.map((waiters) => waiters.length))).toBe(17)
    for (const waiters of shared) expect(new Set(waiters.map(({ member }) => member)).size).toBe(1)
  })
})

test('a hand-off to another process takes the time of 2.2 round trips', async () => {
  await using proxy = await startTcpProxy({ port: server.port })
  await using distant = await startCrew(2, leasehold, proxy.port)
  // A wire so long that what a busy machine adds to it hardly counts.
  proxy.delay(40)
  const handOffs: number[] = []
  const roundTrips: number[] = []
  while (handOffs.length < 6) {
    // The first waiter has a connection made for the notifier.
    const heldMs = handOffs.length === 0 ? 800 : 400
    const plan = { waiters: 1, holdMs: 0, gapMs: 0, heldMs, waitIn: elsewhere }
    const { first, served } = await handOffRun(admin, distant.members, plan, leasehold.sends)
    handOffs.push(handOffFigures(first, served).p50)
    roundTrips.push(...((await distant.members[0]?.roundTrips({ count: 1, everyMs: 10 })) ?? []))
  }
  // The quickest of each: whatever else the machine does makes both slower.
  expect(Math.min(...handOffs) / Math.min(...roundTrips)).toBeLessThanOrEqual(2.2)
})

/** How often a waiter was served before one who had come before it. */
function inversions(served: readonly Served[]): number {
  const arrivals = served.toSorted((a, b) => a.acquiredAt - b.acquiredAt).map(({ arrivedAt }) => arrivedAt)
  return arrivals.filter((arrivedAt, turn) => arrivedAt < (arrivals[turn - 1] ?? 0)).length
}

/** Who was served by which grant. Those who share one have consecutive fences; another's begins far above. */
function grants<T extends Served>(served: readonly T[]): readonly (readonly T[])[] {
  const found: T[][] = []
  for (const waiter of served.toSorted((a, b) => Number(a.fence) - Number(b.fence))) {
    const last = found.at(-1)
    if (last && Number(last.at(-1)?.fence) + 1 === waiter.fence) last.push(waiter)
    else found.push([waiter])
  }
  return found
}
