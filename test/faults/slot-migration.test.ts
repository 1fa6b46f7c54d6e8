import { createLocker, type LockerEvent } from '@leasehold/core'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { type RedisCluster, type RedisServer, startRedisCluster } from '@leasehold/testkit/redis'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'

// One slot of a cluster is moved to another node, as a resharding does it, while its locks are in use.

let cluster: RedisCluster
let slots = 0

beforeAll(async () => {
  cluster = await startRedisCluster()
})
afterAll(() => cluster.stop())

interface Move {
  /** A key of the slot. */
  key(name: string): string
  /** Both nodes know of it, and nothing has been moved yet. */
  begin(): Promise<void>
  /** Moves entries: these, or all that are there. */
  carry(...entries: readonly string[]): Promise<void>
  /** Tells every node that the slot is the target's. */
  end(): Promise<void>
}

let move: Move
beforeEach(async () => {
  const tag = `slot-${slots++}`
  const source = await cluster.nodeOf(`{${tag}}`)
  const target = cluster.nodes.find((node) => node !== source) as RedisServer
  const slot = Number(await source.command('CLUSTER', 'KEYSLOT', `{${tag}}`))
  const id = async (node: RedisServer): Promise<string> => String(await node.command('CLUSTER', 'MYID'))
  move = {
    key: (name) => `{${tag}}${name}`,
    async begin() {
      await target.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', await id(source))
      await source.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await id(target))
    },
    async carry(...entries) {
      const all = (await source.command('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[]
      const keys = entries.length > 0 ? entries : all
      await source.command('MIGRATE', target.host, target.port, '', 0, 5_000, 'KEYS', ...keys)
    },
    async end() {
      const acquisitionId = await id(target)
      for (const node of [target, source, ...cluster.nodes])
        await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', acquisitionId)
    },
  }
})

function connect(): { locks: ReturnType<typeof createLocker>; events: LockerEvent[] } {
  const client = new Cluster(cluster.nodes.map(({ host, port }) => ({ host, port })))
  client.on('error', () => undefined)
  const events: LockerEvent[] = []
  const locks = createLocker({
    store: ioredisStore(client),
    notifier: ioredisNotifier(client),
    ttl: '30s',
    wait: '15s',
    onEvent: (event) => events.push(event),
  })
  onTestFinished(async () => {
    await locks.close({ grace: 0 })
    client.disconnect()
  })
  return { locks, events }
}
const types = (events: readonly LockerEvent[]): ReadonlySet<string> => new Set(events.map(({ type }) => type))

it('held leases survive the move of their slot, and a waiter for one of its locks gets it', async () => {
  const [a, b] = [connect(), connect()]
  const held = await a.locks.acquire(move.key('held'))
  const waiting = b.locks.acquire(move.key('held'))
  await move.begin()
  await held.renew({ ttl: '30s' })
  // Nobody has this one, so it may be on neither node: it has to wait for the end of the move.
  const free = b.locks.acquire(move.key('free'))
  await move.carry()
  await held.renew({ ttl: '30s' })
  await move.end()
  await held.renew({ ttl: '30s' })
  expect(await (await free).release()).toBe('released')
  expect(await held.release()).toBe('released')
  expect(await (await waiting).release()).toBe('released')
  for (const { events } of [a, b]) expect(types(events)).not.toContain('lost')
})

it('a lease whose entry is on one node and its fence record on the other is kept, and renewed once they are together', async () => {
  const { locks } = connect()
  const held = await locks.acquire(move.key('held'))
  await move.begin()
  await move.carry(`lock:${move.key('held')}`)
  const error = await held.renew({ ttl: '30s' }).catch((e: unknown) => e)
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(reasons(error)).toContainEqual(expect.stringContaining('TRYAGAIN'))
  expect(held.signal.aborted).toBe(false)
  await move.carry()
  await held.renew({ ttl: '30s' })
  await move.end()
  expect(await held.release()).toBe('released')
})

it('while a move does not come to its end, a call for a free lock of the slot is told of it, and others go on', async () => {
  const { locks, events } = connect()
  await move.begin()
  const error = await locks.acquire(move.key('free'), { wait: '3s' }).catch((e: unknown) => e)
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(reasons(error)).toContainEqual(expect.stringContaining('TRYAGAIN'))
  expect(await locks.withLock('elsewhere', () => 'done')).toBe('done')
  expect(types(events)).not.toContain('lost')
  await move.end()
  expect(await locks.withLock(move.key('free'), () => 'done')).toBe('done')
})

/** The messages of an error and of its causes. */
function reasons(error: unknown): readonly string[] {
  return error instanceof Error ? [error.message, ...reasons(error.cause)] : []
}
