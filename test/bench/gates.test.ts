import { connectRedisAdmin, type RedisAdmin, type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { causalWays } from '../support/causal-ways.ts'
import { leasehold } from './contestants/leasehold.ts'
import { type Crew, startCrew } from './crew/crew.ts'
import { handOffFigures, type Served } from './measure/hand-offs.ts'
import { exponent } from './measure/statistics.ts'
import { type HandOffPlan, type HandOffRun, handOffRun } from './scenarios/hand-off-run.ts'
import { commandsToFirst, costModelExample } from './scenarios/waiting.ts'

/*
 * What hand-off and waiting may cost, as counts: unlike a bench, these hold on a machine of any speed. The processes
 * are real, with the notifier and the local hand-off.
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

/** Waiters in a different process from the holder's. */
const elsewhere = (member: number): boolean => member === 1

/** How long the lock was held: a busy machine may take a while to start counting. */
const wholeSeconds = (heldMs: number, plan: HandOffPlan): number => Math.floor(Math.max(heldMs, plan.heldMs) / 1_000)

test('a hundred who wait behind their own process cost one check a second between them', async () => {
  const plan = { waiters: 100, holdMs: 0, gapMs: 0, heldMs: 2_100 }
  const { commands, heldMs } = await run(1, plan)
  // The server does not know the first script yet, so it is sent twice.
  expect(commands.arriving.sent + commands.held.sent).toBeLessThanOrEqual(1 + wholeSeconds(heldMs, plan))
})

test('a hundred who wait behind another process cost one command a second between them', async () => {
  const plan = { waiters: 100, holdMs: 0, gapMs: 0, heldMs: 2_100, waitIn: elsewhere }
  const { commands, heldMs } = await run(2, plan)
  // A try, a subscription, the try that closes the gap between the two; then one check per second.
  expect(commands.arriving.sent + commands.held.sent).toBeLessThanOrEqual(3 + wholeSeconds(heldMs, plan))
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

test('a hand-off to another process takes two round trips', async () => {
  await using ways = await causalWays(server.port, 2)
  await using holders = await startCrew(1, leasehold, ways.ports[0] as number)
  await using waiters = await startCrew(1, leasehold, ways.ports[1] as number)
  const members = [...holders.members, ...waiters.members]
  const trips: number[] = []
  while (trips.length < 5) {
    await handOffRun(
      admin,
      members,
      { waiters: 1, holdMs: 0, gapMs: 0, heldMs: 400, waitIn: elsewhere },
      leasehold.sends,
    )
    trips.push(ways.tripsTo(1))
  }
  // The release and its notification, the waiter's try and the grant; then two for the waiter's release. A check by the
  // waiter itself may come in between, so not all rounds have to be alike.
  expect(trips.toSorted()[2], String(trips)).toBe(4 + 2)
})

/** How often a waiter was served before one that had arrived earlier. */
function inversions(served: readonly Served[]): number {
  const arrivals = served.toSorted((a, b) => a.acquiredAt - b.acquiredAt).map(({ arrivedAt }) => arrivedAt)
  return arrivals.filter((arrivedAt, turn) => arrivedAt < (arrivals[turn - 1] ?? 0)).length
}

/**
 * Groups the served waiters by grant. Those that share one have consecutive fences; another grant's begin far above.
 */
function grants<T extends Served>(served: readonly T[]): readonly (readonly T[])[] {
  const found: T[][] = []
  for (const waiter of served.toSorted((a, b) => Number(a.fence) - Number(b.fence))) {
    const last = found.at(-1)
    if (last && Number(last.at(-1)?.fence) + 1 === waiter.fence) last.push(waiter)
    else found.push([waiter])
  }
  return found
}
