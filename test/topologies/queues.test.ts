import { fifo } from '@leasehold/core/queue'
import { type RedisCluster, startRedisCluster } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { queueCrew } from '../support/queue-crew.ts'
import { elapse, limit, rounds, soak } from '../support/scale.ts'
import { clients } from './clients.ts'
import { openProcess } from './process.ts'

/*
 * A process that dies or freezes while its waiters are in front, on a cluster. Its nodes do not know each other's
 * subscribers, so nobody is taken for dead before its window is over.
 */

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startRedisCluster({ args: ['--cluster-node-timeout', '60000'] })
})
afterAll(() => cluster.stop())

const [ioredis] = clients
const windowMs = 4_000
/** More than one call drops. */
const waiters = rounds(250, 120)

const endings = ['SIGKILL', 'SIGSTOP'] as const
it.each(soak ? endings : endings.slice(0, 1))(
  'costs those behind it one window, and not one for each of its waiters, after a %s',
  async (signal) => {
    const [server] = cluster.nodes
    if (!server || !ioredis) throw new Error('There is no node, or no client')
    const { locks } = openProcess(ioredis.toCluster(cluster.nodes), { queue: fifo() })
    await using crew = await queueCrew({ server, prefix: 'lock:', isCluster: true }, signal, 2)
    const [ending, living] = crew.processes
    const held = await locks.acquire(signal, { ttl: '5m' })
    await crew.enter(waiters, ending)
    await crew.enter(1, living)
    ending?.kill(signal)
    await elapse(100)
    const releasedAt = performance.now()
    await held.release()
    await crew.servedAre(1)
    const tookMs = performance.now() - releasedAt
    console.log(`${waiters} waiters, ${signal}: after ${Math.round(tookMs)} ms`)
    // The turn was theirs. Otherwise this shows nothing.
    expect(tookMs).toBeGreaterThan(windowMs - 50)
    expect(tookMs).toBeLessThan(windowMs + limit(300))
    if (signal === 'SIGKILL') return
    // Once it continues, its waiters find that they are missing, and are served.
    ending?.kill('SIGCONT')
    await crew.servedAre(waiters + 1)
  },
  120_000,
)
