import { connectRedisAdmin, type RedisAdmin, type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLocker } from '../locker.ts'
import { redisStore } from '../redis/redis-store.ts'
import type { RedisTransport, ScriptCall, ScriptReply } from '../redis/redis-transport.ts'
import { rooms } from './index.ts'

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
