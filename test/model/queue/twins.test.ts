import { keyLayout } from '@leasehold/core/adapter'
import { redisStore } from '@leasehold/core/redis'
import { ioredisTransport } from '@leasehold/ioredis'
import { callUntil, seededRandom } from '@leasehold/testkit'
import { startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, expect, it } from 'vitest'
import { MemoryStore } from '../../../packages/core/src/memory/memory-store.ts'
import { openTables } from '../../../packages/core/src/memory/tables.ts'
import { queueOf } from '../../../packages/core/src/queue/queue-of.ts'
import type { QueueKind, QueueStore } from '../../../packages/core/src/store/queue.ts'
import { inOneForm, type VirtualServer, virtualTransport } from './virtual-redis.ts'

/*
 * The memory store and the Redis scripts are asked the same, at the same virtual time, and answer the same.
 */

const redis = await startRedis()
const client = new Redis(redis.port)
afterAll(async () => {
  client.disconnect()
  await redis.stop()
})

const memoryMs = 20_000
const call = callUntil(new AbortController().signal)
const start = 1_764_000_000_000

function twins() {
  const server = { nowMs: start, subscribers: {} as Record<string, number> }
  const clock = { monotonicMs: () => server.nowMs, wallMs: () => server.nowMs, schedule: () => () => undefined }
  const tables = openTables(clock)
  const memory = new MemoryStore(clock, memoryMs, tables)
  const lua = redisStore(virtualTransport(ioredisTransport(client), server as VirtualServer), {
    fenceMemory: memoryMs,
  })
  return { server, tables, memory, lua, queues: [queueOf(memory), queueOf(lua)] as [QueueStore, QueueStore] }
}

type Twins = ReturnType<typeof twins>

const kinds: readonly QueueKind[] = [
  { name: 'exclusive', capacity: 1 },
  { name: 'semaphore', capacity: 4 },
  { name: 'read-write', capacity: 1_000_000 },
]

async function play(seed: number, steps: number): Promise<void> {
  const { random, pick, chance, whole } = dice(seed)
  const { server, tables, memory, lua, queues }: Twins = twins()
  await client.flushall()
  const kind = pick(kinds)
  const inboxes = Array.from({ length: 1 + whole(6) }, (_, at) => `${at}`.repeat(32))
  const heard: string[] = []
  const stops = new Map<string, () => void>()
  memory.listen('k', (payload) => heard.push(`lock:release:k ${payload}`))
  server.subscribers['lock:release:k'] = 1
  const listening = (inbox: string, count: number): void => {
    if (count > 0 && !stops.has(inbox)) {
      stops.set(
        inbox,
        memory.listenInbox(inbox, (payload) => heard.push(`lock:turn:${inbox} ${payload}`)),
      )
    } else if (count === 0) {
      stops.get(inbox)?.()
      stops.delete(inbox)
    }
    server.subscribers[`lock:turn:${inbox}`] = count
  }
  const http = new Set(inboxes.filter(() => chance(0.2)))
  for (const inbox of inboxes) if (!http.has(inbox)) listening(inbox, 1)
  const permitsOf = new Map<string, number>()
  const ids: string[] = []
  const tokens: string[] = []
  const newId = (isPlain = false): string => {
    const id = `${chance(0.5) ? 'someone.' : ''}${Array.from({ length: 32 }, () => whole(16).toString(16)).join('')}`
    if (!isPlain) ids.push(id)
    return id
  }
  const idOf = new Map<string, string>()
  const log: string[] = []
  const ttl = (): number => pick([300, 1_000, 3_000, 10_000])

  const both = async <T>(
    name: string,
    request: unknown,
    ask: (queue: QueueStore, at: 0 | 1) => Promise<T>,
  ): Promise<T> => {
    const before = server.nowMs
    const answers = [await ask(queues[0], 0), await ask(queues[1], 1)] as const
    const shown = answers.map(inOneForm)
    log.push(`${before - start} ${name} ${JSON.stringify(request)} → ${shown[0]}`)
    expect(shown[1], `seed ${seed}\n${log.slice(-Number(process.env['LOG'] ?? 12)).join('\n')}\n`).toBe(shown[0])
    return answers[0]
  }

  for (let step = 0; step < steps; step++) {
    server.nowMs += pick([0, 1, 7, 50, 50, 200, 700, 2_000])
    if (chance(0.01)) server.nowMs += 15_000
    // What is past its expiry is gone, and does not come back when the clock is set back.
    for (const table of [tables.locks, tables.fences, tables.queues])
      if (!table.get('k', server.nowMs)) table.delete('k')
    if (chance(Number(process.env['BACK'] ?? 0))) server.nowMs -= 6_000
    const inbox = pick(inboxes)
    const number = whole(5)
    const name = `${inbox}.${number}`
    const what = random()
    if (what < 0.4) {
      const id = (chance(0.7) && idOf.get(name)) || newId()
      idOf.set(name, id)
      const permits =
        permitsOf.get(name) ??
        (kind.name === 'exclusive' ? 1 : kind.name === 'semaphore' ? 1 + whole(3) : pick([1, 1, 1_000_000]))
      permitsOf.set(name, permits)
      const other = chance(0.03) ? pick(kinds) : kind
      const asked = other.capacity < permits ? kind : other
      const request = {
        key: 'k',
        kind: asked,
        permits,
        acquisitionId: id,
        ttlMs: ttl(),
        waiter: {
          inbox,
          number,
          priorityClass: whole(3),
          listens: !http.has(inbox),
          aliveMs: pick([6_000, 12_000]),
          windowMs: 4_000,
        },
      }
      const outcome = await both('acquire', request, (queue) => queue.acquire(request, call))
      if (outcome.type === 'granted') tokens.push(outcome.token)
    } else if (what < 0.45) {
      const request = {
        key: 'k',
        kind,
        permits: 1,
        acquisitionId: chance(0.3) && ids.length ? pick(ids) : newId(),
        ttlMs: ttl(),
        waiter: undefined,
      }
      const outcome = await both('try', request, (queue) => queue.acquire(request, call))
      if (outcome.type === 'granted') tokens.push(outcome.token)
    } else if (what < 0.6) {
      const request = { key: 'k', inbox, aliveMs: 12_000, numbers: [0, 1, 2, 3, 4].filter(() => chance(0.7)) }
      await both('look', request, (queue) => queue.look([request], call))
    } else if (what < 0.66) {
      const request = { key: 'k', inbox, number, acquisitionId: chance(0.7) ? idOf.get(name) : undefined }
      await both('leave', request, (queue) => queue.leave(request, call))
    } else if (what < 0.82 && tokens.length > 0) {
      const token = chance(0.8) ? (tokens.at(-1) as string) : pick(tokens)
      const request = {
        key: 'k',
        exclusive: chance(0.97) ? kind.name === 'exclusive' : chance(0.5),
        token,
        keep: kind.name !== 'exclusive' && chance(0.2) ? 1 : 0,
      }
      await both('release', request, (queue) => queue.release([request], call))
    } else if (what < 0.86 && tokens.length > 0) {
      const request = { key: 'k', token: chance(0.7) ? (tokens.at(-1) as string) : pick(tokens), ttlMs: ttl() }
      await both('renew', request, (queue) => queue.renew([request], call))
    } else if (what < 0.88) {
      const request = chance(0.9)
        ? { name: kind.name, capacity: kind.name === 'semaphore' ? 1 + whole(6) : kind.capacity }
        : pick(kinds)
      await both('resize', request, (queue) => queue.resize('k', request, call))
    } else if (what < 0.91) {
      listening(inbox, http.has(inbox) ? 0 : whole(2))
    } else if (what < 0.95) {
      const request = { key: 'k', acquisitionId: newId(true), ttlMs: ttl(), fences: 1 }
      const outcome = await both('plain acquire', request, (_, at) => (at ? lua : memory).acquire([request], call))
      if (outcome[0]?.type === 'granted') tokens.push(outcome[0].token)
    } else if (what < 0.97 && tokens.length > 0) {
      const request = { key: 'k', token: pick(tokens) }
      await both('plain release', request, (_, at) => (at ? lua : memory).release([request], call))
    } else {
      await both('inspect', 'k', (queue) => queue.inspect('k', call))
    }
    await Promise.resolve()
    const [messages, immortal] = (await client.eval(checked, 0)) as [string[], string[]]
    const published = messages.filter((message) => (server.subscribers[message.split(' ')[0] as string] ?? 0) > 0)
    expect(published, `messages, seed ${seed}\n${log.slice(-12).join('\n')}\n`).toEqual(heard.splice(0))
    expect(immortal, `seed ${seed}`).toEqual([])
  }
}

/** What was published, and which keys would never expire. */
const checked = `
  local messages, immortal = redis.call('LRANGE', 'virtual:messages', 0, -1), {}
  redis.call('DEL', 'virtual:messages')
  for _, key in ipairs(redis.call('KEYS', '*lock:k*')) do
    if not redis.call('ZSCORE', 'virtual:expiries', key) then immortal[#immortal + 1] = key end
  end
  return {messages, immortal}`

function dice(seed: number) {
  const { random } = seededRandom(seed)
  const whole = (below: number): number => Math.floor(random() * below)
  return {
    random,
    whole,
    chance: (share: number): boolean => random() < share,
    pick: <T>(list: readonly T[]): T => list[whole(list.length)] as T,
  }
}

it('answer alike', async () => {
  void keyLayout
  const first = Number(process.env['SEED'] ?? 1)
  for (let seed = first; seed < first + Number(process.env['RUNS'] ?? 20); seed++) await play(seed, 300)
}, 300_000)
