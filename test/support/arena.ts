import { randomUUID } from 'node:crypto'
import { createLocker, type LeaseStore, type Locker, type LockerOptions } from '@leasehold/core'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { ioredisStore } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { quiet } from './quiet.ts'

/** A store that several clients contend for, and access to it behind their backs. */
export interface Arena extends AsyncDisposable {
  readonly name: string
  /** A locker with a connection of its own, as another process would have. */
  client(options?: Partial<LockerOptions>): Locker
  /** Removes the lock's entry, as an eviction would. */
  remove(key: string): Promise<void>
  /** Takes the lock from its holder and gives it to someone else. */
  supersede(key: string): Promise<void>
}

export interface RedisArena extends Arena {
  readonly server: RedisServer
  readonly prefix: string
  /** A store over a connection of its own, to the server or to a proxy in front of it. */
  store(port?: number): LeaseStore
  command: RedisServer['command']
}

/** The embedded store: one process, so all clients share it. */
async function memoryArena(): Promise<Arena> {
  const store = memoryStore()
  const lockers: Locker[] = []
  const client = (options: Partial<LockerOptions> = {}): Locker => {
    const locker = createLocker({ store, notifier: memoryNotifier(store), ...options })
    lockers.push(locker)
    return locker
  }
  const outsider = client({ renew: false })
  return {
    name: 'memory',
    client,
    async remove(key) {
      await outsider.revoke(key)
    },
    async supersede(key) {
      await outsider.revoke(key)
      await outsider.acquire(key, { ttl: '30s' })
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(lockers.map((locker) => locker.close({ grace: 0 })))
    },
  }
}

/** A Redis of its own on 127.0.0.1, under a prefix of its own, reached through ioredis with its defaults. */
export async function redisArena(serverArgs: readonly string[] = []): Promise<RedisArena> {
  const server = await startRedis({ args: serverArgs })
  const prefix = `arena-${randomUUID().slice(0, 8)}:`
  const connections: Redis[] = []
  const lockers: Locker[] = []
  const store = (port: number = server.port): LeaseStore => {
    const connection = quiet(new Redis(port, server.host))
    connections.push(connection)
    return ioredisStore(connection, { prefix })
  }
  return {
    name: 'redis over ioredis',
    server,
    prefix,
    store,
    command: (...args) => server.command(...args),
    client(options = {}) {
      const locker = createLocker({ store: options.store ?? store(), ...options })
      lockers.push(locker)
      return locker
    },
    async remove(key) {
      await server.command('DEL', prefix + key)
    },
    async supersede(key) {
      await server.command('SET', prefix + key, 'someone-else', 'PX', 30_000)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(lockers.map((locker) => locker.close({ grace: 0 })))
      for (const connection of connections) connection.disconnect()
      await server.stop()
    },
  }
}

/** Every store that a case of the lock itself applies to. */
export const arenas: readonly (readonly [name: string, open: () => Promise<Arena>])[] = [
  ['memory', memoryArena],
  ['redis over ioredis', redisArena],
]
