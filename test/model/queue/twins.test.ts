import { redisStore } from '@leasehold/core/redis'
import { ioredisTransport } from '@leasehold/ioredis'
import { callUntil } from '@leasehold/testkit'
import { startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, expect, it } from 'vitest'
import { MemoryStore } from '../../../packages/core/src/memory/memory-store.ts'
import { openTables } from '../../../packages/core/src/memory/tables.ts'
import { queueOf } from '../../../packages/core/src/queue/queue-of.ts'
import type { QueueStore } from '../../../packages/core/src/store/queue.ts'
import { rounds } from '../../support/scale.ts'
import { type RandomRequest, RandomRequests } from './random-requests.ts'
import { inOneForm, type VirtualServer, virtualTransport } from './virtual-redis.ts'

/*
 * The memory store and the Redis scripts get the same requests at the same virtual time, and answer and publish the
 * same. The requests are not those that processes would send, as in the model, but anything at all.
 */

const redis = await startRedis()
const client = new Redis(redis.port)
afterAll(async () => {
  client.disconnect()
  await redis.stop()
})

const call = callUntil(new AbortController().signal)
const fenceMemory = 20_000
const channel = 'lock:release:k'
const inboxChannel = (inbox: string): string => `lock:turn:${inbox}`

class Twins {
  readonly server: VirtualServer = { nowMs: 1_764_000_000_000, subscribers: { [channel]: 1 } }
  readonly #memory: MemoryStore
  readonly #redis = redisStore(virtualTransport(ioredisTransport(client), this.server), { fenceMemory })
  readonly #stops: Map<string, () => void> = new Map()
  #heard: string[] = []

  constructor() {
    const now = (): number => this.server.nowMs
    const clock = { monotonicMs: now, wallMs: now, schedule: () => () => undefined }
    this.#memory = new MemoryStore(clock, fenceMemory, openTables(clock))
    this.#memory.listen('k', (payload) => this.#heard.push(`${channel} ${payload}`))
  }

  subscribe(inbox: string, count: number): void {
    this.#stops.get(inbox)?.()
    this.#stops.delete(inbox)
    if (count > 0) {
      const listener = (payload: string): unknown => this.#heard.push(`${inboxChannel(inbox)} ${payload}`)
      this.#stops.set(inbox, this.#memory.listenInbox(inbox, listener))
    }
    this.server.subscribers[inboxChannel(inbox)] = count
  }

  /** The answers of both. */
  async ask(asked: RandomRequest): Promise<readonly [memory: unknown, redis: unknown]> {
    return [await answerOf(this.#memory, asked), await answerOf(this.#redis, asked)]
  }

  /** What each has published since, where somebody listens; and which keys of Redis would stay forever. */
  async checked(): Promise<{ memory: readonly string[]; redis: readonly string[]; immortal: readonly string[] }> {
    const [messages, immortal] = (await client.eval(published, 0)) as [string[], string[]]
    const memory = this.#heard
    this.#heard = []
    const { subscribers } = this.server
    return { memory, redis: messages.filter((it) => (subscribers[it.slice(0, it.indexOf(' '))] ?? 0) > 0), immortal }
  }
}

const published = `
  local messages, immortal = redis.call('LRANGE', 'virtual:messages', 0, -1), {}
  redis.call('DEL', 'virtual:messages')
  for _, key in ipairs(redis.call('KEYS', '*lock:k*')) do
    if not redis.call('ZSCORE', 'virtual:expiries', key) then immortal[#immortal + 1] = key end
  end
  return {messages, immortal}`

async function answerOf(store: Parameters<typeof queueOf>[0], asked: RandomRequest): Promise<unknown> {
  const queue = queueOf(store) as QueueStore
  if (asked.verb === 'acquire') return queue.acquire(asked.request, call)
  if (asked.verb === 'look') return (await queue.look([asked.request], call))[0]
  if (asked.verb === 'leave') return queue.leave(asked.request, call)
  if (asked.verb === 'renew') return (await queue.renew([asked.request], call))[0]
  if (asked.verb === 'release') return (await queue.release([asked.request], call))[0]
  if (asked.verb === 'resize') return queue.resize('k', asked.kind, call)
  if (asked.verb === 'plain acquire') return (await store.acquire([asked.request], call))[0]
  if (asked.verb === 'plain release') return (await store.release([asked.request], call))[0]
  return queue.inspect('k', call)
}

/** `LEASEHOLD_SEED=7 vitest run …` plays one seed. */
const given = process.env['LEASEHOLD_SEED']
const seeds = given === undefined ? Array.from({ length: rounds(400, 25) }, (_, seed) => seed) : [Number(given)]
const steps = 300

it.each(seeds)('they answer alike, seed %i', async (seed) => {
  await client.flushall()
  const twins = new Twins()
  const requests = new RandomRequests(seed)
  const history: string[] = []
  for (const inbox of requests.inboxes) twins.subscribe(inbox, requests.listens(inbox) ? 1 : 0)
  for (let step = 0; step < steps; step++) {
    twins.server.nowMs += requests.pause()
    const asked = requests.next()
    if (asked.verb === 'subscribers') {
      twins.subscribe(asked.inbox, asked.count)
      continue
    }
    const [memory, lua] = await twins.ask(asked)
    history.push(`${twins.server.nowMs} ${JSON.stringify(asked)} → ${JSON.stringify(memory)}`)
    const told = history.slice(-12).join('\n')
    expect(inOneForm(lua), told).toBe(inOneForm(memory))
    const checked = await twins.checked()
    expect(checked.redis, told).toEqual(checked.memory)
    expect(checked.immortal, told).toEqual([])
    const { type, token } = memory as { type: string; token: string }
    if (type === 'granted') requests.granted(token)
  }
})
