import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { connectRedisAdmin, type RedisAdmin, type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Locks } from './contestants/contestant.ts'
import { leasehold } from './contestants/leasehold.ts'
import { scriptsIoredis } from './contestants/our-scripts.ts'
import { commandsBetween, readCommands } from './measure/commands.ts'

/* What an uncontended lock may cost, as counts: unlike a bench, these hold on a machine of any speed. */

let server: RedisServer
let admin: RedisAdmin
let proxy: TcpProxy
let ours: Locks
let floor: Locks
beforeAll(async () => {
  server = await startRedis()
  admin = await connectRedisAdmin({ port: server.port })
  proxy = await startTcpProxy({ port: server.port })
  ours = await leasehold.connect(proxy.port)
  floor = await scriptsIoredis.connect(proxy.port)
  // The server learns the scripts, and the clients send what they send only once.
  for (const locks of [ours, floor]) await pairs(locks, 5)
})
afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await admin.close()
  await server.stop()
})

async function pairs(locks: Locks, count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    const lease = await locks.acquire('order:1')
    await lease.release()
  }
}

/** Bytes for each pair, one after another. */
async function bytesOf(locks: Locks): Promise<{ readonly toServer: number; readonly toClient: number }> {
  const count = 50
  const before = { ...proxy.bytes }
  await pairs(locks, count)
  const each = (direction: 'toServer' | 'toClient'): number => (proxy.bytes[direction] - before[direction]) / count
  return { toServer: each('toServer'), toClient: each('toClient') }
}

test('a lock and its release are two commands, its fence and the news of its release included', async () => {
  const before = await readCommands(admin)
  await pairs(ours, 20)
  expect(commandsBetween(before, await readCommands(admin), leasehold.sends).sent).toBe(2 * 20)
})

test('a pair puts no more bytes on the socket than its two scripts called by hand', async () => {
  const [mine, least] = [await bytesOf(ours), await bytesOf(floor)]
  expect(mine.toServer, JSON.stringify({ mine, least })).toBeLessThanOrEqual(least.toServer)
  expect(mine.toClient, JSON.stringify({ mine, least })).toBeLessThanOrEqual(least.toClient)
  // Two hashes, four names made of the key, the token twice: a script's text would be a thousand.
  expect(mine.toServer).toBeLessThanOrEqual(420)
})
