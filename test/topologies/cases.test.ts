import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, ms, soak } from '../support/scale.ts'
import { everyOperation } from './every-operation.ts'
import { lossOf } from './loss.ts'
import { openProcess } from './process.ts'
import { runTopologies } from './running.ts'
import { type Topology, topologies, withClients } from './topology.ts'

/* Cases T-36 and T-38 where there are several servers. T-35 is in the files of each topology. */

const running = runTopologies()
const each = withClients(topologies)

/** The soak takes times literally, so nothing else runs beside it. */
const together = soak ? it : it.concurrent

// One at a time, so that nobody else has a script loaded between its flush and its call.
it.for(each)(
  'T-36: on $on, over $over, scripts that every server has forgotten are not missed, whatever is called',
  async ({ kind, client }) => {
    const topology = running.of(kind)
    const { locks, events } = openProcess(running.connect(kind, client))
    const flushed = async (): Promise<void> => {
      for (const server of topology.servers) await server.command('SCRIPT', 'FLUSH')
    }
    const before = await scriptsMissed(topology)
    const scripts = await everyOperation(locks, `t36 ${kind.name} ${client.name}`, flushed, async (key) => {
      const primary = await topology.primaryOf(`lock:${key}`)
      const leftMs = async (): Promise<number> => Number(await primary.command('PTTL', `lock:${key}`))
      let leastMs = await leftMs()
      await eventually(async () => {
        const presentMs = await leftMs()
        leastMs = Math.min(leastMs, presentMs)
        return presentMs > leastMs + 50
      })
    })
    expect((await scriptsMissed(topology)) - before).toBeGreaterThanOrEqual(scripts)
    expect(events.filter(({ type }) => type === 'lost' || type === 'renewal-unanswered')).toEqual([])
  },
)

/** How many calls met with a server that did not know their script. */
async function scriptsMissed({ servers }: Topology): Promise<number> {
  const errors = await Promise.all(servers.map((server) => server.command('INFO', 'errorstats')))
  return errors.reduce(
    (sum: number, text) => sum + Number(/errorstat_NOSCRIPT:count=(\d+)/.exec(String(text))?.[1] ?? 0),
    0,
  )
}

describe('where a server starts again with its data,', () => {
  it.for(topologies)(
    'T-36: on $name, the lease is renewed that it had, and every operation succeeds at the first try',
    async (kind) => {
      const topology = running.of(kind)
      const held = await Promise.all(
        kind.clients.map(async (client) => {
          const { locks } = openProcess(running.connect(kind, client))
          const tag = `t36 again ${kind.name} ${client.name}`
          return { locks, tag, lease: await locks.acquire(`{${tag}}held`, { ttl: '5m', renew: false }) }
        }),
      )
      const [first] = held as [(typeof held)[number]]
      const server = await topology.primaryOf(`lock:${first.lease.key}`)
      await server.restart({ keepData: true })
      // A cluster's node takes no writes for two seconds.
      const write = ['SET', `{${first.tag}}any`, 'any', 'PX', 1_000]
      await eventually(() => server.command(...write).then(Boolean, () => false))
      await eventually(async () => (await server.replicatedTo(kind.replicas)) >= kind.replicas)
      await Promise.all(
        held.map(async ({ locks, tag, lease }) => {
          await lease.renew({ ttl: '6m' })
          expect(await locks.tryAcquire(lease.key)).toBeNull()
          await everyOperation(locks, tag)
          expect(await lease.release()).toBe('released')
          const next = await locks.acquire(lease.key, { wait: 0 })
          expect(next.fence).toBeGreaterThan(lease.fence)
          expect(await next.release()).toBe('released')
        }),
      )
    },
  )
})

describe('where memory is short,', () => {
  const atMost = (memory: string) => () =>
    Promise.all(
      running.all.map(async (topology) => {
        const primary = await topology.primaryOf('lock:{t38}')
        await primary.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-random', 'maxmemory', memory)
      }),
    )
  beforeAll(atMost('12mb'))
  afterAll(atMost('0'))

  together.for(each)(
    'T-38: on $on, over $over, an evicted lock is noticed at the next renewal, which does not bring it back',
    async ({ kind, client }, { onTestFinished }) => {
      const topology = running.of(kind)
      const { locks } = openProcess(running.connect(kind, client), {}, onTestFinished)
      const key = `{t38}${client.name} on ${kind.name}`
      const lease = await locks.acquire(key, { ttl: ms(5_000, 3_000), wait: '20s' })
      const lost = lossOf(lease)
      const primary = await topology.primaryOf(`lock:${key}`)
      const filler = 'x'.repeat(100_000)
      await eventually(async () => {
        for (let chunk = 0; chunk < 20; chunk++) {
          await primary.command('SET', `{t38}fill-${Math.random()}`, filler, 'PX', 60_000)
        }
        return (await primary.command('EXISTS', `lock:${key}`)) === 0
      }, 60_000)
      expect(await lost).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
      expect(await primary.command('EXISTS', `lock:${key}`)).toBe(0)
      expect(await lease.release()).toBe('expired')
    },
  )
})
