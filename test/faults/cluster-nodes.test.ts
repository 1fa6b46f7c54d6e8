import { createLocker, type Locker, type LockerEvent } from '@leasehold/core'
import { keySlot } from '@leasehold/core/redis'
import { type RedisCluster, startRedisCluster } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { elapse } from '../support/scale.ts'
import { clients, type TopologyClient } from '../topologies/clients.ts'

/*
 * What the nodes of a cluster do not report: PUBLISH counts the subscribers of one node, and a stopped node does not
 * announce itself.
 */

let cluster: RedisCluster
const ends: (() => unknown)[] = []
beforeAll(async () => {
  cluster = await startRedisCluster({
    args: ['--cluster-require-full-coverage', 'no', '--cluster-node-timeout', '60000'],
  })
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
  await cluster[Symbol.asyncDispose]()
})

/** A locker with its own connections, as another process would have. */
function locker(
  client: TopologyClient,
  options: { readonly ttl?: number; readonly onEvent?: (event: LockerEvent) => void } = {},
): Locker {
  const { store, notifier, close } = client.toCluster(cluster.nodes)
  const locks = createLocker({ store, notifier, wait: '60s', ...options })
  ends.push(async () => {
    await locks.close({ grace: 0 })
    close()
  })
  return locks
}

it.concurrent.each(clients)(
  'a process with many waiters does not starve one with few, wherever their subscribers are, over $name',
  {
    timeout: 60_000,
  },
  async (client) => {
    const [many, few] = [locker(client), locker(client)]
    for (const key of ['k7', 'k3', 'k'].map((key) => `${key}-${client.name}`)) {
      const holds = { many: 0, few: 0 }
      let stop = false
      const loop = async (locks: Locker, whose: keyof typeof holds): Promise<void> => {
        while (!stop) {
          await locks.withLock(key, async () => {
            holds[whose]++
            await elapse(1)
          })
        }
      }
      const loops = [
        ...Array.from({ length: 50 }, () => loop(many, 'many')),
        ...Array.from({ length: 2 }, () => loop(few, 'few')),
      ]
      await elapse(1_500)
      stop = true
      await Promise.all(loops)
      console.log(`${key}: ${holds.many} holds of the many, ${holds.few} of the few`)
      // Runs of 17 each, in turn.
      expect(holds.few).toBeGreaterThan(holds.many / 8)
    }
  },
)

it('a node that stops for longer than the ttl costs no lease on the others, nor an unanswered renewal', {
  timeout: 90_000,
}, async () => {
  const ttl = 6_000
  const keys = Array.from({ length: 1_200 }, (_, at) => `held-${at}`)
  const victim = cluster.nodes[0]
  /** What each client's locker reported about its keys. */
  const holders = clients.map((client) => {
    const told = new Map<string, Set<string>>()
    const locks = locker(client, {
      ttl,
      onEvent(event) {
        if (event.type !== 'lost' && event.type !== 'renewal-unanswered') return
        told.set(event.type, (told.get(event.type) ?? new Set()).add(event.key))
      },
    })
    return { name: client.name, locks, of: (type: string): string[] => [...(told.get(type) ?? [])] }
  })
  const own = (name: string, key: string): string => `${key}-${name}`
  const all = holders.flatMap(({ name }) => keys.map((key) => own(name, key)))
  // The slots are dealt in equal runs, the first to the first node.
  const living = new Set(all.filter((key) => keySlot(`lock:${key}`) * 3 >= 16_384))
  for (const { name, locks } of holders) {
    for (let at = 0; at < keys.length; at += 200) {
      await Promise.all(keys.slice(at, at + 200).map((key) => locks.acquire(own(name, key))))
    }
  }
  victim?.pause()
  await elapse(ttl + 1_500)
  victim?.resume()
  expect(living.size).toBeGreaterThan(600 * holders.length)
  for (const { name, of } of holders) {
    expect(of('lost').length, name).toBeGreaterThan(300)
    expect(
      of('lost').filter((key) => living.has(key)),
      name,
    ).toEqual([])
    expect(
      of('renewal-unanswered').filter((key) => living.has(key)),
      name,
    ).toEqual([])
  }
})
