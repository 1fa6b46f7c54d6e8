import { readFileSync } from 'node:fs'
import { createLocker, type Locker } from '@leasehold/core'
import { Call } from '@leasehold/core/adapter'
import { lead, leaderOf } from '@leasehold/core/election'
import { detach, resume } from '@leasehold/core/hand-over'
import { listLocks, readLocks } from '@leasehold/core/listing'
import { acquireAll, tryAcquireEach } from '@leasehold/core/many'
import { once } from '@leasehold/core/once'
import { fifo, inspectQueue, priority, queueOf } from '@leasehold/core/queue'
import { readWriteLock } from '@leasehold/core/read-write'
import { holdAtLeast } from '@leasehold/core/schedule'
import { semaphore } from '@leasehold/core/semaphore'
import { ioredisBackend, ioredisStore } from '@leasehold/ioredis'
import { sessions } from '@leasehold/sessions'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { createClient as createClient4 } from 'redis-4'
import { createClient as createClient5 } from 'redis-5'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { elapse, eventually, limit } from '../support/scale.ts'

/* The users of `docs/operating.md`: each line is enough for its part, and no rule can be left out. */

const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')
/** The lines in order. The second line of a user adds to its first. */
const lines = Array.from(page.matchAll(/^ACL SETUSER (\S+) (?:on >\S+ )?(.+)$/gm), ([, user = '', rules = '']) => ({
  user,
  rules: rules.split(' '),
}))
/** What a user does with the permissions of a line, and of those before it for the same user. */
const parts = ['app', 'queues', 'rooms', 'look', 'revoke']

let server: RedisServer
let admin: Redis
let others: Locker
let turn = 0
beforeAll(async () => {
  server = await startRedis()
  admin = new Redis(server.port)
  await admin.config('SET', 'acllog-max-len', '10000')
  others = createLocker({ ...ioredisBackend(admin), name: 'others' })
})
afterAll(async () => {
  await others.close({ grace: 0 })
  admin.disconnect()
  await server.stop()
})

/** Waits until `count` connections listen for the release of a lock. */
const listening = (key: string, count: number): Promise<void> =>
  eventually(async () => ((await admin.call('PUBSUB', 'NUMSUB', `lock:release:${key}`)) as unknown[])[1] === count)

/** The rejection is left to whoever awaits the promise later, if anybody does. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

type Part = (locks: Locker, key: string) => Promise<unknown>

/** One lock after another: taken, waited for, renewed, handed off within a process, released. */
const plain: Part = async (locks, key) => {
  const lease = await locks.acquire(key, { ttl: '10s' })
  const waiting = handled(others.acquire(key, { wait: '5s' }))
  await listening(key, 1)
  await lease.renew({ ttl: '20s' })
  await lease.release()
  const other = await waiting
  // This one waits itself, and is notified.
  const again = handled(locks.acquire(key, { wait: '5s', recheck: '1h' }))
  await listening(key, 2)
  await other.release()
  await (await again).release()
  await locks.inspect(key)
  await (await locks.acquire(key)).release()
}

const calls: Readonly<Record<string, Part>> = {
  async app(locks, key) {
    await plain(locks, key)
    const free = await tryAcquireEach(locks, [`${key}:a`, `${key}:b`, `${key}:c`])
    await Promise.all([...free.values()].map((lease) => lease.release()))
    await (await acquireAll(locks, [`${key}:a`, `${key}:b`])).release()
    await (await holdAtLeast(locks, '1s').tryAcquire(`${key}:job`))?.release()
    const moved = await detach(await locks.acquire(`${key}:moved`), { ttl: '10s' })
    await (await resume(locks, moved)).release()
    await once(locks, `${key}:once`, async () => 1, { keep: '10s' })
    await lead(locks, `${key}:leader`, async () => undefined).ended
    await leaderOf(locks, `${key}:leader`)
    await locks.acquire(`${key}:revoked`)
    await locks.revoke(`${key}:revoked`)
  },
  async queues(locks, key) {
    await plain(locks, key)
    const first = await locks.acquire(key, { queue: fifo() })
    const next = [locks.acquire(key, { queue: fifo() }), others.acquire(key, { queue: priority(1) })].map(handled)
    await eventually(async () => (await inspectQueue(locks, key)).waiting === 2)
    await first.release()
    await Promise.all(next.map(async (lease) => (await lease).release()))
    await locks.acquire(`${key}:kept`, { queue: fifo() })
    await expect(locks.acquire(`${key}:kept`, { queue: fifo(), wait: '50ms' })).rejects.toThrow()
    const pool = semaphore(locks, `${key}:pool`, { permits: 3 })
    const permit = await pool.acquire({ permits: 2 })
    await permit.renew({ ttl: '20s' })
    await pool.resize(4)
    await permit.release()
    await readWriteLock(locks, `${key}:doc`).withWrite(async () => undefined)
  },
  async rooms(locks, resource) {
    const registry = sessions(locks, { ttl: '1s', sharedRoles: ['reader'], takeOver: 'anyone' })
    const unwatch = registry.watch(resource, () => undefined)
    await listening(resource, 1)
    const enter = async (role: string, userId: string, sessionId: string) => {
      const entered = await registry.enter({ resource, role, userId, sessionId })
      if (entered.type === 'held') throw new Error('held')
      return entered.session
    }
    const first = await enter('writer', 'ada', 'tab-1')
    const second = await enter('writer', 'ada', 'tab-2')
    await enter('writer', 'bob', 'tab-3')
    await enter('reader', 'eve', 'tab-4')
    expect((await registry.members(resource)).length).toBe(2)
    expect(await registry.holderOf(resource, 'writer')).toMatchObject({ userId: 'bob' })
    await Promise.all([first.leave(), second.leave()])
    await admin.del(`{lock:${resource}}:entries`)
    await enter('writer', 'ada', 'tab-5')
    unwatch()
    await registry.close()
  },
  async look(locks, key) {
    const pool = semaphore(others, `${key}:pool`, { permits: 3 })
    await Promise.all([pool.acquire(), pool.acquire()])
    await others.acquire(key, { queue: fifo() })
    const inbox = {
      inbox: 'f'.repeat(32),
      number: 1,
      priorityClass: 0,
      listens: false,
      aliveMs: 9_000,
      windowMs: 4_000,
    }
    const call = new Call(2_000)
    const kind = { name: 'exclusive', capacity: 1 } as const
    const store = queueOf(ioredisStore(admin))
    await store?.acquire(
      { key, kind, permits: 1, acquisitionId: '0'.repeat(31).concat('1'), ttlMs: 9_000, waiter: inbox },
      call,
    )
    const found: string[] = []
    for await (const lock of listLocks(locks, { pattern: `${key}*` })) {
      expect(lock.listeners).toBe(0)
      found.push(lock.key)
    }
    expect(found.sort()).toEqual([key, `${key}:pool`])
    await readLocks(locks, found)
    for (const each of found) await inspectQueue(locks, each)
  },
  async revoke(locks, key) {
    await calls['look']?.(locks, key)
    expect(await locks.revoke(key)).toBe(true)
    expect(await locks.revoke(`${key}:pool`)).toBe(true)
  },
}

/**
 * Does a user's part with these rules. `denied` is what the server has logged as refused, even if the caller did not
 * notice.
 *
 * @param withinMs limits the part, since without a permission it may wait in vain
 */
async function attempt(name: string, rules: readonly string[], withinMs: number) {
  const user = `${name}-${++turn}`
  await admin.acl('SETUSER', user, 'reset', 'on', '>password', ...rules)
  // The program of the last two sends nothing when it connects.
  const enableReadyCheck = name === 'app' || name === 'queues' || name === 'rooms'
  const access = { port: server.port, username: user, password: 'password' }
  const client = new Redis({ ...access, enableReadyCheck, maxRetriesPerRequest: 0 })
  client.on('error', () => undefined)
  // Keeps an idle connection alive: node-redis sends it with `pingInterval`, and notifiers send it on a quiet
  // connection.
  if (enableReadyCheck) client.ping().catch(() => undefined)
  const locks = createLocker({ ...ioredisBackend(client), name, wait: '2s' })
  const failures: string[] = []
  await Promise.race([
    (calls[name] as Part)(locks, user).catch((error: Error) => failures.push(error.message)),
    elapse(withinMs).then(() => failures.push('too slow')),
  ])
  await locks.close({ grace: 0 })
  client.disconnect()
  const log = (await admin.acl('LOG', '10000')) as unknown as (string | number)[][]
  const denied = log.filter((entry) => entry.includes(user)).map((entry) => `${entry[5]} ${entry[7]} (${entry[3]})`)
  return { denied, failures }
}

describe.each(parts.map((name, at) => [name, at] as const))('the line for "%s"', (name, at) => {
  const own = lines[at]?.rules ?? []
  const others = lines.slice(0, at).flatMap(({ user, rules }) => (user === lines[at]?.user ? rules : []))

  test('is enough', async () => {
    const { denied, failures } = await attempt(name, [...others, ...own], limit(30_000))
    expect([...denied, ...failures]).toEqual([])
  })

  test('has nothing that can be left out', async () => {
    const isNeeded = async (rule: string): Promise<boolean> => {
      const { denied, failures } = await attempt(name, [...others, ...own.filter((each) => each !== rule)], 800)
      return denied.length + failures.length > 0
    }
    // Scripts are sent as text only when the server does not know them.
    const first: string[] = own.filter((rule) => rule === '+eval')
    await admin.script('FLUSH')
    const needed = await Promise.all(first.map(isNeeded))
    const rest = own.filter((rule) => !first.includes(rule))
    needed.push(...(await Promise.all(rest.map(isNeeded))))
    expect([...first, ...rest].filter((_, rule) => !needed[rule])).toEqual([])
  })
})

interface PingingClient {
  on(event: 'error', listener: (error: unknown) => void): unknown
  connect(): Promise<unknown>
  disconnect(): Promise<unknown>
}
type Options = { readonly url: string; readonly pingInterval: number }

test.each([
  ['6', (options: Options): PingingClient => createClient(options)],
  ['5', (options: Options): PingingClient => createClient5(options)],
  ['4', (options: Options): PingingClient => createClient4(options)],
] as const)('the line for "app" is enough for the pings of node-redis %s', async (_, create) => {
  await admin.acl('SETUSER', 'pings', 'reset', 'on', '>password', ...(lines[0]?.rules ?? []))
  const client = create({ url: `redis://pings:password@127.0.0.1:${server.port}`, pingInterval: 20 })
  const errors: unknown[] = []
  client.on('error', (error: unknown) => errors.push(error))
  await client.connect()
  const pings = async (): Promise<string> =>
    (await admin.info('commandstats')).match(/cmdstat_ping:calls=(\d+)/)?.[1] ?? '0'
  const before = Number(await pings())
  await eventually(async () => Number(await pings()) >= before + 3)
  // Before the client is disconnected, which may cut off a ping that is on its way: an error that is none of the line's.
  const refusals = [...errors]
  await client.disconnect()
  expect(refusals).toEqual([])
})

test('the page has a line for each', () => {
  expect(lines.map(({ user }) => user)).toEqual(['app', 'app', 'rooms', 'look', 'look'])
})
