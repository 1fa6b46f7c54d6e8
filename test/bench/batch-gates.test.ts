import { connectRedisAdmin, type RedisAdmin, type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Held, Locks } from './contestants/contestant.ts'
import { leasehold } from './contestants/leasehold.ts'
import { startCrew } from './crew/crew.ts'
import { roomyYoung } from './crew/load-jobs.ts'
import { commandsBetween, readCommands } from './measure/commands.ts'

/* What many locks at once may cost, and what one lock leaves for the garbage collector, as counts. */

let server: RedisServer
let admin: RedisAdmin
let locks: Locks
beforeAll(async () => {
  server = await startRedis()
  admin = await connectRedisAdmin({ port: server.port })
  locks = await leasehold.connect(server.port)
  // The server learns the scripts.
  await (await locks.acquire('first')).release()
})
afterAll(async () => {
  await admin.close()
  await server.stop()
})

async function commandsFor<T>(work: () => Promise<T>): Promise<readonly [T, number]> {
  const before = await readCommands(admin)
  const done = await work()
  return [done, commandsBetween(before, await readCommands(admin), leasehold.sends).sent]
}

const keysOf = (count: number): readonly string[] => Array.from({ length: count }, (_, which) => `turn-${which}`)

describe.each([
  [2, 1],
  [7, 1],
  // So that Redis carries out one half while the client reads the answer to the other.
  [8, 2],
  [64, 2],
  [65, 2],
  [256, 4],
])('%i locks of one turn of the event loop', (count, commands) => {
  let held: readonly Held[]

  test(`are taken with ${commands} in all`, async () => {
    const [leases, sent] = await commandsFor(() => Promise.all(keysOf(count).map((key) => locks.acquire(key))))
    held = leases
    expect(sent).toBe(commands)
  })

  test(`are released with ${commands} in all`, async () => {
    const [, sent] = await commandsFor(() => Promise.all(held.map((lease) => lease.release())))
    expect(sent).toBe(commands)
  })
})

test('a lock around no work, 16 at a time, allocates no more than 12.5 kB', async () => {
  await using crew = await startCrew(1, leasehold, server.port, roomyYoung)
  expect(await crew.members[0]?.allocations({ inFlight: 16, count: 1_600, warmUp: 16_000 })).toBeLessThanOrEqual(12_500)
})
