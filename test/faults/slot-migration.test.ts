import { createLocker, type LockerEvent } from '@leasehold/core'
import { type RedisCluster, type SlotMove, startRedisCluster } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { clients, type TopologyClient } from '../topologies/clients.ts'

// One slot of a cluster is moved to another node, as in a resharding, while its locks are in use.

let cluster: RedisCluster
let slots = 0

beforeAll(async () => {
  cluster = await startRedisCluster()
})
afterAll(() => cluster.stop())

/** Picks a slot that no other test moves, and keys in it. */
async function slot(): Promise<{ move: SlotMove; key(name: string): string }> {
  const tag = `slot-${slots++}`
  const key = (name: string): string => `{${tag}}${name}`
  return { move: await cluster.slotMove(key('')), key }
}

function connect(client: TopologyClient): { locks: ReturnType<typeof createLocker>; events: LockerEvent[] } {
  const { store, notifier, close } = client.toCluster(cluster.nodes)
  const events: LockerEvent[] = []
  const locks = createLocker({
    store,
    notifier,
    ttl: '30s',
    wait: '15s',
    onEvent: (event) => events.push(event),
  })
  onTestFinished(async () => {
    await locks.close({ grace: 0 })
    close()
  })
  return { locks, events }
}
const types = (events: readonly LockerEvent[]): ReadonlySet<string> => new Set(events.map(({ type }) => type))

// One after another: moves that end at the same time give nodes the same configuration epoch, and one of the slots
// moves back.
describe.each(clients)('over $name', (client) => {
  it('held leases survive the move of their slot, and a waiter for one of its locks gets it', async () => {
    const { move, key } = await slot()
    const [a, b] = [connect(client), connect(client)]
    const held = await a.locks.acquire(key('held'))
    const waiting = b.locks.acquire(key('held'))
    await move.begin()
    await held.renew({ ttl: '30s' })
    // Nobody holds this lock, so its key may be on neither node: the acquire has to wait for the end of the move.
    const free = b.locks.acquire(key('free'))
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
    const { move, key } = await slot()
    const { locks } = connect(client)
    const held = await locks.acquire(key('held'))
    await move.begin()
    await move.carry(`lock:${key('held')}`)
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
    const { move, key } = await slot()
    const { locks, events } = connect(client)
    await move.begin()
    const error = await locks.acquire(key('free'), { wait: '3s' }).catch((e: unknown) => e)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(reasons(error)).toContainEqual(expect.stringContaining('TRYAGAIN'))
    expect(await locks.withLock('elsewhere', () => 'done')).toBe('done')
    expect(types(events)).not.toContain('lost')
    await move.end()
    expect(await locks.withLock(key('free'), () => 'done')).toBe('done')
  })
})

/** The messages of an error and of its causes. */
function reasons(error: unknown): readonly string[] {
  return error instanceof Error ? [error.message, ...reasons(error.cause)] : []
}
