import { createLocker, type Locker, type LockerEvent } from '@leasehold/core'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { startHttpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { fetchStore } from '@leasehold/upstash'
import { Lock } from '@upstash/lock'
import { Redis as UpstashRedis } from '@upstash/redis'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { Mutex, Semaphore } from 'redis-semaphore'
import Redlock from 'redlock'
import { tryLock } from 'simple-redis-mutex'
import { describe, expect, it } from 'vitest'
import { startTestGateway } from '../../packages/upstash/test/gateway.ts'
import { quiet } from '../support/quiet.ts'

/** What `docs/migrating/` says of a rollout during which some processes still lock with another library. */

/** Another library's lock on the key `order:1`. */
interface TheirLock {
  /** Whether the library still believes that the lock is held, and the server agrees. */
  extend(): Promise<boolean>
  release(): Promise<unknown>
}

interface Neighbour {
  /** The prefix with which our keys are theirs. */
  readonly prefix: string
  /** Tries once; null if somebody has it. */
  take(ttlMs: number): Promise<TheirLock | null>
}

interface Setting extends AsyncDisposable {
  readonly neighbour: Neighbour
  readonly events: readonly LockerEvent[]
  /** Our locker on their keys, with a notifier. */
  readonly locks: Locker
}

type Open = (at: {
  readonly redis: RedisServer
  readonly url: string
  readonly token: string
}) => Promise<Neighbour & { close(): Promise<unknown> }>

const neighbours: readonly (readonly [name: string, open: Open])[] = [
  ['redlock', overRedlock],
  ['redis-semaphore', overRedisSemaphore],
  ['simple-redis-mutex', overSimpleRedisMutex],
  ['@upstash/lock', overUpstashLock],
]

describe.each(neighbours)('beside %s on the same keys', (name, open) => {
  it('what either holds, the other does not get', async () => {
    await using setting = await side(open)
    const { neighbour, locks } = setting
    const theirs = await neighbour.take(5_000)
    expect(theirs).not.toBeNull()
    expect(await locks.tryAcquire('order:1')).toBeNull()
    expect(await locks.inspect('order:1')).toMatchObject({ held: true, holder: null, fence: null, since: null })
    await theirs?.release()

    const ours = await locks.acquire('order:1', { wait: 0 })
    expect(await neighbour.take(5_000)).toBeNull()
    await ours.release()
    expect(await neighbour.take(5_000)).not.toBeNull()
  })

  it('a holder of theirs whose time is over neither extends nor frees a lease of ours', async () => {
    await using setting = await side(open)
    const { neighbour, locks } = setting
    const theirs = await neighbour.take(300)
    const ours = await locks.acquire('order:1', { wait: '5s', ttl: '30s' })
    expect(await theirs?.extend()).toBe(false)
    await theirs?.release()
    ours.assertValid()
    expect(await locks.inspect('order:1')).toMatchObject({ held: true, fence: ours.fence })
    expect(await ours.release()).toBe('released')
  })

  it('a waiter of ours finds their release within its recheck, though they announce nothing to us', async () => {
    await using setting = await side(open)
    const { neighbour, locks, events } = setting
    const theirs = await neighbour.take(30_000)
    const next = locks.acquire('order:1', { wait: '20s', recheck: '200ms' })
    await expect.poll(() => events).toContainEqual({ type: 'contended', key: 'order:1' })
    await theirs?.release()
    const ours = await next
    // Long before their lock would have expired.
    expect(ours.waitedMs).toBeLessThan(15_000)
    await ours.release()
  })

  it('our fences rise over a lock of theirs in between', async () => {
    await using setting = await side(open)
    const { neighbour, locks } = setting
    const before = await locks.acquire('order:1')
    await before.release()
    await (await neighbour.take(5_000))?.release()
    const after = await locks.acquire('order:1')
    expect(after.fence).toBeGreaterThan(before.fence)
    await after.release()
  })

  it('an operator may take a lock of theirs away, and they learn it when they next extend it', async () => {
    await using setting = await side(open)
    const { neighbour, locks } = setting
    const theirs = await neighbour.take(30_000)
    expect(await locks.revoke('order:1')).toBe(true)
    await using ours = await locks.acquire('order:1', { wait: 0 })
    expect(await theirs?.extend()).toBe(false)
    ours.assertValid()
  })

  /** A closure over the name, so that a failure shows it. */
  const side = (opened: Open): Promise<Setting> => setting(name, opened)
})

it('redlock over several servers goes on without us: a majority is free of our lease', async () => {
  await using a = await startRedis()
  await using b = await startRedis()
  await using c = await startRedis()
  const connections = [a, b, c].map(({ port }) => quiet(new Redis(port)))
  const redlock = new Redlock(connections, { retryCount: 0 })
  const locks = createLocker({ store: ioredisStore(connections[0] as Redis) })
  const ours = await locks.acquire('order:1')
  const theirs = await redlock.acquire(['lock:order:1'], 5_000)
  ours.assertValid()
  await theirs.release()
  await ours.release()
  await locks.close()
  await redlock.quit()
})

it('a semaphore of redis-semaphore on our key is refused by name', async () => {
  await using server = await startRedis()
  const connection = quiet(new Redis(server.port))
  const semaphore = new Semaphore(connection, 'pool', 2)
  await semaphore.acquire()
  const locks = createLocker({ store: ioredisStore(connection, { prefix: 'semaphore:' }) })
  await expect(locks.tryAcquire('pool')).rejects.toMatchObject({ code: 'KIND_MISMATCH' })
  await semaphore.release()
  await locks.close()
  connection.disconnect()
})

it('redlock rejects where a lock was lost, also for work that went well', async () => {
  await using server = await startRedis()
  const redlock = new Redlock([quiet(new Redis(server.port))], { retryCount: 1, retryDelay: 20 })
  const work = async (): Promise<string> => {
    await server.command('DEL', 'lock:order:1')
    return 'done'
  }
  await expect(redlock.using(['lock:order:1'], 5_000, work)).rejects.toMatchObject({ name: 'ExecutionError' })
  await redlock.quit()
})

it('@upstash/lock answers false for a lock that it took, when the answer was lost; ours finds its own lease', async () => {
  await using gateway = await startTestGateway()
  await using proxy = await startHttpProxy({ target: gateway.url })
  const { token } = gateway
  const theirs = upstashLock(proxy.url, token, { id: 'theirs', retry: { attempts: 1, delay: 0 } })
  const lost = proxy.dropNextReply('cut')
  expect(await theirs.acquire()).toBe(false)
  await lost
  expect(await gateway.redis.command('EXISTS', 'theirs')).toBe(1)

  const locks = createLocker({ store: fetchStore({ url: proxy.url, token }) })
  const lostAgain = proxy.dropNextReply('cut')
  const ours = await locks.tryAcquire('ours')
  await lostAgain
  expect(await ours?.release()).toBe('released')
  // The library counts in whole seconds there.
  const another = upstashLock(proxy.url, token, { id: 'another' })
  await another.acquire()
  await expect(another.extend(1_500)).rejects.toThrow('integer')
  expect(await another.extend(2_000)).toBe(true)
})

async function setting(name: string, open: Open): Promise<Setting> {
  // Only one library's client speaks HTTP; a Redis with a gateway in front of it serves all of them.
  const gateway = await startTestGateway()
  const { redis, url, token } = gateway
  const connection = quiet(new Redis(redis.port))
  const neighbour = await open({ redis, url, token })
  const events: LockerEvent[] = []
  const locks = createLocker({
    store: ioredisStore(connection, { prefix: neighbour.prefix }),
    notifier: ioredisNotifier(connection, { prefix: neighbour.prefix }),
    name: `beside-${name.replace(/\W/g, '')}`,
    onEvent: (event) => events.push(event),
  })
  return {
    neighbour,
    events,
    locks,
    async [Symbol.asyncDispose]() {
      await locks.close({ grace: 0 })
      await neighbour.close()
      connection.disconnect()
      await gateway[Symbol.asyncDispose]()
    },
  }
}

async function overRedlock({ redis: { port } }: { readonly redis: RedisServer }) {
  const redlock = new Redlock([quiet(new Redis(port))], { retryCount: 0 })
  return {
    prefix: 'lock:',
    async take(ttlMs: number): Promise<TheirLock | null> {
      const lock = await redlock.acquire(['lock:order:1'], ttlMs).catch(() => null)
      return lock && { extend: () => told(lock.extend(5_000)), release: () => told(lock.release()) }
    },
    close: () => redlock.quit(),
  }
}

async function overRedisSemaphore({ redis: { port } }: { readonly redis: RedisServer }) {
  const connection = quiet(new Redis(port))
  return {
    prefix: 'mutex:',
    async take(ttlMs: number): Promise<TheirLock | null> {
      const options = { lockTimeout: ttlMs, refreshInterval: 0, acquireAttemptsLimit: 1 }
      const mutex = new Mutex(connection, 'order:1', options)
      if (!(await mutex.tryAcquire())) return null
      // What the library's own timer does; it is off here so that a short lock ends.
      const again = { ...options, identifier: mutex.identifier, acquiredExternally: true as const }
      return { extend: () => new Mutex(connection, 'order:1', again).tryAcquire(), release: () => mutex.release() }
    },
    close: async () => connection.disconnect(),
  }
}

async function overSimpleRedisMutex({ redis }: { readonly redis: RedisServer }) {
  const name = 'simple-redis-mutex'
  const client = quiet(createClient({ name, socket: { host: '127.0.0.1', port: redis.port } }))
  await client.connect()
  return {
    prefix: '@simple-redis-mutex:lock-',
    async take(ttlMs: number): Promise<TheirLock | null> {
      const [got, release] = await tryLock(client, 'order:1', { timeout: ttlMs })
      if (!got) return null
      const key = '@simple-redis-mutex:lock-order:1'
      const extend = async (): Promise<boolean> => {
        const before = await client.get(key)
        await release.refreshTimeout()
        // The call returns nothing: whether it extended anything shows in whose lock is there.
        return before !== null && !/^[\w-]+\.[\da-f]{32}\./.test(before)
      }
      return { extend, release }
    },
    async close() {
      await client.close()
      // The library then closes a duplicate that listens, and handles no error if the server ends before that.
      await expect.poll(() => redis.command('CLIENT', 'LIST')).not.toContain(`name=${name} `)
    },
  }
}

async function overUpstashLock({ url, token }: { readonly url: string; readonly token: string }) {
  return {
    prefix: 'lock:',
    async take(ttlMs: number): Promise<TheirLock | null> {
      const lock = upstashLock(url, token, { id: 'lock:order:1', lease: ttlMs, retry: { attempts: 1, delay: 0 } })
      if (!(await lock.acquire())) return null
      return { extend: () => lock.extend(5_000), release: () => lock.release() }
    },
    close: async () => undefined,
  }
}

type UpstashLockOptions = ConstructorParameters<typeof Lock>[0]

function upstashLock(url: string, token: string, options: Omit<UpstashLockOptions, 'redis'>): Lock {
  // Its declarations are for CommonJS, and refer to the other of the client's two declarations.
  return new Lock({ ...options, redis: new UpstashRedis({ url, token }) as unknown as UpstashLockOptions['redis'] })
}

/** Whether a call that rejects on failure succeeded. */
const told = (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => true,
    () => false,
  )
