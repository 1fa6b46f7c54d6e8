import { connectRedisAdmin, type RedisAdmin, type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLocker } from '../locker.ts'
import { redisStore } from '../redis/redis-store.ts'
import type { RedisTransport, ScriptCall, ScriptReply } from '../redis/redis-transport.ts'
import { type KeptEntry, rooms } from './index.ts'

let server: RedisServer
let admin: RedisAdmin
beforeAll(async () => {
  server = await startRedis()
  admin = await connectRedisAdmin({ port: server.port })
})
afterAll(async () => {
  await admin?.close()
  await server?.stop()
})

const send = ({ command, body, keys, args }: ScriptCall): Promise<ScriptReply> =>
  admin.command(command, body, keys.length, ...keys, ...args).then(
    (value) => ({ type: 'value', value, resent: false }),
    (error: Error) => ({ type: 'error', message: error.message }),
  )
const transport: RedisTransport = {
  commandDeadlineMs: 2_000,
  cluster: false,
  countsSubscribers: true,
  nodeOf: () => '',
  whenReady: () => undefined,
  run: (calls) => Promise.all(calls.map(send)),
}

/** How many commands of a client Redis carries out meanwhile: what a script calls is not counted. */
async function roundTrips(work: () => Promise<unknown>): Promise<number> {
  await admin.command('CONFIG', 'RESETSTAT')
  await work()
  const stats = String(await admin.command('INFO', 'commandstats'))
  const scripts = Array.from(stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm), ([, calls]) => Number(calls))
  return scripts.reduce((sum, calls) => sum + calls, 0)
}

it('looks at rooms and renews entries in one round trip for each hundred', async () => {
  const found = rooms(createLocker({ store: redisStore(transport) }))
  const entries: KeptEntry[] = []
  for (let at = 0; at < 250; at++) {
    const room = `room-${at}`
    const entered = await found.enter({ room, role: 'reader', userId: 'ada', sessionId: 'tab', ttl: '10m' })
    if (entered.entered) entries.push({ room, token: entered.lease.token })
  }
  const some = (count: number) => entries.slice(0, count)
  const look = (count: number) => found.look(some(count).map(({ room }) => ({ key: room })))
  const renew = (count: number) => found.renew(some(count), '10m')
  // From now on, Redis has the texts of the scripts.
  await Promise.all([look(1), renew(1)])
  for (const [count, trips] of [
    [1, 1],
    [100, 1],
    [101, 2],
    [250, 3],
  ] as const) {
    expect(await roundTrips(async () => expect(await look(count)).toHaveLength(count))).toBe(trips)
    const renewed = Array.from({ length: count }, () => 'renewed')
    expect(await roundTrips(async () => expect(await renew(count)).toEqual(renewed))).toBe(trips)
  }
})

it('a user with hundreds of sessions enters once more at the cost of the first', async () => {
  const found = rooms(createLocker({ store: redisStore(transport) }))
  const enter = (sessionId: string) =>
    found.enter({ room: 'doc', role: 'reader', exclusive: false, userId: 'ada', sessionId, ttl: '10m' })
  async function commandsOf(sessionId: string): Promise<number> {
    await admin.command('CONFIG', 'RESETSTAT')
    expect((await enter(sessionId)).entered).toBe(true)
    const stats = String(await admin.command('INFO', 'commandstats'))
    // An expiry is set again only if a millisecond has passed since the last time.
    const counted = stats.matchAll(/^cmdstat_(?!pexpire:)\S+:calls=(\d+)/gm)
    return Array.from(counted).reduce((sum, [, calls]) => sum + Number(calls), 0)
  }
  await enter('text of the script')
  const first = await commandsOf('first')
  for (let at = 0; at < 300; at++) await enter(`tab-${at}`)
  expect(await commandsOf('last')).toBe(first)
  // The session takes its own place.
  expect((await enter('tab-7')).entered).toBe(true)
  const [view] = await found.look([{ key: 'doc' }])
  expect(view && 'entries' in view && view.entries.filter(({ sessionId }) => sessionId === 'tab-7')).toHaveLength(1)
})
