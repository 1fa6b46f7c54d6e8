import { redisStore } from '@leasehold/core/redis'
import { ioredisTransport } from '@leasehold/ioredis'
import { callUntil } from '@leasehold/testkit'
import { startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, expect, test } from 'vitest'
import { queueOf } from '../../../packages/core/src/queue/queue-of.ts'
import type { QueueStore } from '../../../packages/core/src/store/queue.ts'
import { rounds } from '../../support/scale.ts'
import { scenarios } from './scenarios.ts'
import { bounds } from './setting.ts'
import type { Asked, Trace } from './trace.ts'
import { inOneForm, type VirtualServer, virtualTransport } from './virtual-redis.ts'
import { World } from './world.ts'

/* The Redis scripts give the same answers to the model's requests as the memory store did. */

const redis = await startRedis()
const client = new Redis(redis.port)
afterAll(async () => {
  client.disconnect()
  await redis.stop()
})

const key = 'k'
const call = callUntil(new AbortController().signal)
const shown = 6

async function replay(trace: Trace, name: string): Promise<void> {
  await client.flushall()
  const server: VirtualServer = { nowMs: 0, subscribers: {}, bounds }
  const store = redisStore(virtualTransport(ioredisTransport(client), server), { fenceMemory: 600_000 })
  const queue = queueOf(store) as QueueStore
  const history: string[] = []

  async function ask({ verb, request }: Asked): Promise<unknown> {
    if (verb === 'acquire') return queue.acquire(request, call)
    if (verb === 'look') return (await queue.look([request], call))[0]
    if (verb === 'leave') return queue.leave(request, call)
    if (verb === 'renew') return (await queue.renew([request], call))[0]
    if (verb === 'release') return (await queue.release([request], call))[0]
    if (verb === 'resize') return queue.resize(key, request.kind, call)
    if (verb === 'plain acquire') return (await store.acquire([request], call))[0]
    if (verb === 'plain renew') return (await store.renew([request], call))[0]
    return (await store.release([request], call))[0]
  }

  server.subscribers[`lock:release:${key}`] = 1
  for (const step of trace) {
    if (step.type === 'subscribers') {
      server.subscribers[`lock:turn:${step.inbox}`] = step.count
    } else if (step.type === 'wiped') {
      await client.flushall()
    } else {
      server.nowMs = step.nowMs
      const { verb, request, reply } = step.asked
      const answer = await ask(step.asked)
      history.push(`${step.nowMs} ${verb} ${JSON.stringify(request)} → ${JSON.stringify(reply)}`)
      expect(inOneForm(answer), `${name}\n${history.slice(-shown).join('\n')}\n`).toBe(inOneForm(reply))
    }
  }
}

/** `LEASEHOLD_SEED=7 vitest run … -t <scenario>` replays the run of one seed. */
const given = process.env['LEASEHOLD_SEED']
const seeds = given === undefined ? Array.from({ length: rounds(50, 5) }, (_, seed) => seed) : [Number(given)]

test.each(Object.entries(scenarios))('%s', async (name, { setting }) => {
  for (const seed of seeds) {
    const world = await new World(seed, setting).run()
    await replay(world.trace, `${name}, seed ${seed}`)
  }
})
