import { createLocker } from '@leasehold/core'
import { acquireAll, tryAcquireAll, tryAcquireEach } from '@leasehold/core/many'
import { ioredisStore } from '@leasehold/ioredis'
import { type RedisServer, startRedis, startRedisCluster } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { quiet } from '../support/quiet.ts'

/** A locker over a plain client. */
function opened(port: number, user: { username?: string; password?: string } = {}) {
  const client = quiet(new Redis({ port, ...user }))
  const locks = createLocker({ store: ioredisStore(client), ttl: '10s', wait: '300ms' })
  return {
    locks,
    async [Symbol.asyncDispose]() {
      await locks.close({ grace: 0 })
      client.disconnect()
    },
  }
}
const locksIn = async (server: RedisServer): Promise<unknown> =>
  ((await server.command('KEYS', 'lock:*')) as string[]).sort()

it('a plain client of a cluster takes the locks of a set one by one, once the server has told it', async () => {
  const cluster = await startRedisCluster({ nodes: 1 })
  try {
    await using here = opened(cluster.nodes[0]?.port ?? 0)
    const set = await acquireAll(here.locks, ['a', 'b', '{t}1', '{t}2'])
    // One that was refused, one for each of the two slots, and one for the two locks in the same slot.
    expect(set.commands).toBe(4)
    expect(await locksIn(cluster.nodes[0] as RedisServer)).toEqual(['lock:a', 'lock:b', 'lock:{t}1', 'lock:{t}2'])
    expect([...(await set.release()).values()]).toEqual(Array(4).fill('released'))
    const again = await acquireAll(here.locks, ['a', 'b'])
    expect(again.commands).toBe(2)
    const free = await tryAcquireEach(here.locks, ['a', 'b', 'c', 'd'])
    expect([...free.keys()]).toEqual(['c', 'd'])
  } finally {
    await cluster.stop()
  }
})

it('a full server grants none of a set, and takes back all of it', async () => {
  const server = await startRedis()
  try {
    await using here = opened(server.port)
    const held = await acquireAll(here.locks, ['a', 'b'])
    await server.command('CONFIG', 'SET', 'maxmemory', '1')
    await expect(acquireAll(here.locks, ['c', 'd'])).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      executed: 'no',
      message: expect.stringContaining('OOM'),
    })
    expect(await locksIn(server)).toEqual(['lock:a', 'lock:b'])
    // It still says who has the others, extends what is held, and frees it.
    await expect(acquireAll(here.locks, ['b', 'c'])).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT', key: 'b' })
    await held.renew({ ttl: '20s' })
    expect([...(await held.release()).values()]).toEqual(['released', 'released'])
    expect(await locksIn(server)).toEqual([])
  } finally {
    await server.stop()
  }
})

it('of a set that the user may write only in part nothing is taken', async () => {
  const server = await startRedis()
  try {
    const rights = ['on', '>pass', '+@all', 'allchannels', '%RW~lock:a', '%RW~{lock:a}*', '%R~*']
    await server.command('ACL', 'SETUSER', 'someone', ...rights)
    await using here = opened(server.port, { username: 'someone', password: 'pass' })
    await expect(tryAcquireAll(here.locks, ['a', 'b'])).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      refused: true,
    })
    expect(await server.command('KEYS', '*')).toEqual([])
  } finally {
    await server.stop()
  }
})
