import { createLocker } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import { follow, ManualClock, ScriptedStore, unavailable } from '@leasehold/testkit'
import { connectRedisAdmin, startRedis } from '@leasehold/testkit/redis'

/** A manual clock, a store that fails when it is told to, and a private Redis. */
export async function main(): Promise<string> {
  const clock = new ManualClock()
  const locks = createLocker({ store: memoryStore({ clock }), clock })
  await locks.acquire('k', { renew: false, ttl: '5s' })
  const waiting = follow(locks.acquire('k', { wait: '10s' }), clock)
  await clock.advance(9_000)
  const store = new ScriptedStore(clock)
  store.always('acquire', unavailable('no'))
  const server = await startRedis()
  const admin = await connectRedisAdmin({ port: server.port })
  const pong = await admin.command('PING')
  await admin.close()
  await server.stop()
  return `${waiting.state} ${String(pong)}`
}
