import { randomUUID } from 'node:crypto'
import { createLocker, type Locker, type LockerOptions, systemClock } from '@leasehold/core'
import type { LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import { memoryNotifier } from '@leasehold/core/memory'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { nodeRedisNotifier, nodeRedisStore } from '@leasehold/node-redis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { MemoryStore } from '../../packages/core/src/memory/memory-store.ts'
import { openTables } from '../../packages/core/src/memory/tables.ts'
import { quiet } from './quiet.ts'
import { soak } from './scale.ts'

/** A store that several clients contend for, and access to it behind their backs. */
export interface Arena extends AsyncDisposable {
  readonly name: string
  /** A locker with its own connection, as another process would have. */
  client(options?: Partial<LockerOptions>): Locker
  /** What wakes the waiters of one locker. */
  notifier(): ReleaseNotifier
  /** Removes the lock's entry, as an eviction would. */
  remove(key: string): Promise<void>
  /** Takes the lock from its holder and gives it to someone else. */
  supersede(key: string): Promise<void>
}

export interface RedisArena extends Arena {
  readonly server: RedisServer
  readonly prefix: string
  /** A store over its own connection, to the server or to a proxy in front of it. */
  store(port?: number): LeaseStore
  /** Like every arena's notifier, but over its own connection, to the server or to a proxy in front of it. */
  notifier(port?: number): ReleaseNotifier
  command: RedisServer['command']
}

/** The embedded store: one process, so all clients share it. */
async function memoryArena(): Promise<Arena> {
  const tables = openTables(systemClock)
  const store = new MemoryStore(systemClock, 600_000, tables)
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
    notifier: () => memoryNotifier(store),
    async remove(key) {
      tables.locks.delete(key)
    },
    async supersede(key) {
      tables.locks.delete(key)
      await outsider.acquire(key, { ttl: '30s' })
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(lockers.map((locker) => locker.close({ grace: 0 })))
    },
  }
}

/** A client library's connection, and what is created over it under a prefix. */
interface ArenaConnection {
  store(prefix: string): LeaseStore
  notifier(prefix: string): ReleaseNotifier
  close(): unknown
}

function overIoredis(port: number): ArenaConnection {
  const redis = quiet(new Redis(port))
  return {
    store: (prefix) => ioredisStore(redis, { prefix }),
    notifier: (prefix) => ioredisNotifier(redis, { prefix }),
    close: () => redis.disconnect(),
  }
}

function overNodeRedis(port: number): ArenaConnection {
  const redis = quiet(createClient({ socket: { port } }))
  redis.connect().catch(() => undefined)
  return {
    store: (prefix) => nodeRedisStore(redis, { prefix }),
    notifier: (prefix) => nodeRedisNotifier(redis, { prefix }),
    close: () => redis.destroy(),
  }
}

/** A separate Redis on 127.0.0.1, under its own prefix, reached through a client with default options. */
export async function redisArena(
  serverArgs: readonly string[] = [],
  over: (port: number) => ArenaConnection = overIoredis,
): Promise<RedisArena> {
  const server = await startRedis({ args: serverArgs })
  const prefix = `arena-${randomUUID().slice(0, 8)}:`
  const connections: ArenaConnection[] = []
  const lockers: Locker[] = []
  const connect = (port: number = server.port): ArenaConnection => {
    const connection = over(port)
    connections.push(connection)
    return connection
  }
  const store = (port?: number): LeaseStore => connect(port).store(prefix)
  return {
    name: over === overIoredis ? 'redis over ioredis' : 'redis over node-redis',
    server,
    prefix,
    store,
    notifier: (port) => connect(port).notifier(prefix),
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
      for (const connection of connections) connection.close()
      await server.stop()
    },
  }
}

type NamedArena = readonly [name: string, open: () => Promise<Arena>]

export const overNodeRedisToo: NamedArena = ['redis over node-redis', () => redisArena([], overNodeRedis)]

/** Every store that a case about the lock itself applies to; in the soak, also over another client. */
export const arenas: readonly NamedArena[] = [
  ['memory', memoryArena],
  ['redis over ioredis', redisArena],
  ...(soak ? [overNodeRedisToo] : []),
]
