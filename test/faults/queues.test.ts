import { redisStore } from '@leasehold/core/redis'
import { ioredisTransport } from '@leasehold/ioredis'
import { callUntil, seededRandom } from '@leasehold/testkit'
import { connectRedisAdmin, type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { queueOf } from '../../packages/core/src/queue/queue-of.ts'
import { inboxChannel } from '../../packages/core/src/redis/keys.ts'
import type {
  LookOutcome,
  QueuedAcquireOutcome,
  QueuedAcquireRequest,
  QueueKind,
  QueueStore,
} from '../../packages/core/src/store/queue.ts'
import { quiet } from '../support/quiet.ts'
import { eventually } from '../support/scale.ts'

/*
 * Queues on a real server with a fault: it forgets scripts, is out of memory, restricts a user, or loses keys.
 */

let server: RedisServer
let queue: QueueStore
const clients: Redis[] = []
beforeAll(async () => {
  server = await startRedis()
  queue = queueFor(server)
})
afterAll(async () => {
  for (const client of clients) client.disconnect()
  await server.stop()
})
beforeEach(async () => void (await server.command('FLUSHALL')))

function queueFor({ port, host }: { readonly port: number; readonly host: string }, user: object = {}): QueueStore {
  const client = quiet(new Redis({ port, host, ...user }))
  clients.push(client)
  return queueOf(redisStore(ioredisTransport(client))) as QueueStore
}

const call = () => callUntil(new AbortController().signal)
const exclusive: QueueKind = { name: 'exclusive', capacity: 1 }
const semaphore: QueueKind = { name: 'semaphore', capacity: 2 }
const key = 'k'
const inboxA = 'a'.repeat(32)
const inboxB = 'b'.repeat(32)
let drawn = 0

const asked = (inbox: string, number: number, more: Partial<QueuedAcquireRequest> = {}): QueuedAcquireRequest => ({
  key,
  kind: exclusive,
  permits: 1,
  acquisitionId: (++drawn).toString(16).padStart(32, '0'),
  ttlMs: 20_000,
  waiter: { inbox, number, priorityClass: 0, listens: true, aliveMs: 12_000, windowMs: 4_000 },
  ...more,
})

async function grant(request: QueuedAcquireRequest, on: QueueStore = queue): Promise<string> {
  const outcome = await on.acquire(request, call())
  if (outcome.type !== 'granted') throw new Error(`not granted but ${JSON.stringify(outcome)}`)
  return outcome.token
}
const giveBack = async (token: string, kind: QueueKind = exclusive, on: QueueStore = queue) =>
  (await on.release([{ key, exclusive: kind === exclusive, token, keep: 0 }], call()))[0]
const lookFor = async (inbox: string, numbers: readonly number[], on: QueueStore = queue) =>
  (await on.look([{ key, inbox, aliveMs: 12_000, numbers }], call()))[0]

const released = { type: 'released', announced: true }
const noMemory = { type: 'unknown', executed: 'no', cause: { message: expect.stringContaining('OOM') } }

it('T-36: a server that has forgotten the scripts is asked again, within each call', async () => {
  const flush = () => server.command('SCRIPT', 'FLUSH')
  await flush()
  const token = await grant(asked(inboxA, 0))
  const waiting = asked(inboxB, 0)
  await flush()
  expect(await queue.acquire(waiting, call())).toMatchObject({ type: 'queued', position: 0 })
  await flush()
  expect(await lookFor(inboxB, [0, 1])).toMatchObject({ missing: [1], turns: [] })
  await flush()
  expect(await queue.inspect(key, call())).toMatchObject({ waiting: 1 })
  await flush()
  expect(await giveBack(token)).toMatchObject(released)
  await flush()
  expect(await queue.leave({ key, inbox: inboxB, number: 0, acquisitionId: undefined }, call())).toEqual({
    type: 'left',
  })
  const permit = await grant(asked(inboxA, 1, { kind: semaphore }))
  await flush()
  expect(await queue.renew([{ key, token: permit, ttlMs: 30_000 }], call())).toEqual([{ type: 'renewed' }])
  await flush()
  expect(await queue.resize(key, { ...semaphore, capacity: 3 }, call())).toEqual({ type: 'resized' })
})

describe('a user', () => {
  /** The commands of the queue's scripts, and publishing. */
  const rights = [
    ...['~lock:*', '~{lock:*', '&lock:release:*', '&lock:turn:*', '+eval', '+evalsha', '+info'],
    ...'+get +set +del +pexpire +pttl +time +publish +pubsub|numsub'.split(' '),
    ...'+hget +hmget +hset +hdel'.split(' '),
    ...'+zadd +zrem +zcard +zscore +zmscore +zrank +zrange +zrangebyscore'.split(' '),
  ]
  async function queueOfUser(username: string, ...given: readonly string[]): Promise<QueueStore> {
    await server.command('ACL', 'SETUSER', username, 'on', '>secret', ...given)
    return queueFor(server, { username, password: 'secret' })
  }

  it.each([
    ['exclusive', exclusive],
    ['for several', semaphore],
  ])('needs no other rights than these for a lock that is %s', async (_, kind) => {
    const own = await queueOfUser('enough', ...rights)
    const tokens: string[] = []
    for (let number = 0; number < kind.capacity; number++)
      tokens.push(await grant(asked(inboxA, number, { kind }), own))
    expect(await own.acquire(asked(inboxB, 0, { kind }), call())).toMatchObject({ type: 'queued' })
    expect(await own.acquire(asked(inboxB, 1, { kind, waiter: undefined }), call())).toMatchObject({ type: 'held' })
    expect(await lookFor(inboxB, [0], own)).toMatchObject({ missing: [] })
    expect(await own.inspect(key, call())).toMatchObject({ waiting: 1 })
    if (kind === semaphore) {
      expect(await own.renew([{ key, token: tokens[0] as string, ttlMs: 30_000 }], call())).toEqual([
        { type: 'renewed' },
      ])
    }
    expect(await own.resize(key, kind, call())).toEqual({ type: 'resized' })
    for (const token of tokens) expect(await giveBack(token, kind, own)).toMatchObject(released)
    expect(await own.leave({ key, inbox: inboxB, number: 0, acquisitionId: undefined }, call())).toEqual({
      type: 'left',
    })
  })

  it('who may not publish gives leases back and turns, and says that nobody was told', async () => {
    const silent = await queueOfUser('silent', ...rights.filter((right) => !right.startsWith('&')), 'resetchannels')
    const first = await grant(asked(inboxA, 0), silent)
    await silent.acquire(asked(inboxB, 0), call())
    expect(await giveBack(first, exclusive, silent)).toEqual({ type: 'released', announced: false, subscribers: null })
    expect(await lookFor(inboxB, [0])).toMatchObject({ turns: [0] })
    const second = await grant(asked(inboxB, 0), silent)
    expect(await giveBack(second, exclusive, silent)).toEqual({ type: 'released', announced: false, subscribers: null })
  })

  it('who may not count subscribers believes nobody dead', async () => {
    const uncounting = await queueOfUser('uncounting', ...rights, '-pubsub')
    const first = await grant(asked(inboxA, 0), uncounting)
    await uncounting.acquire(asked(inboxB, 0), call())
    expect(await giveBack(first, exclusive, uncounting)).toMatchObject(released)
    expect(await lookFor(inboxB, [0])).toMatchObject({ turns: [0], missing: [] })
  })
})

describe.each([
  ['exclusive', exclusive],
  ['for several', semaphore],
])('a server without memory left, and a lock that is %s', (_, kind) => {
  it('goes on for those who have it and those who wait, and lets nobody else enter', async () => {
    const { capacity } = kind
    const holding = Array.from({ length: capacity }, (_, number) => asked(inboxA, number, { kind }))
    const tokens: string[] = []
    for (const request of holding) tokens.push(await grant(request))
    const waiting = Array.from({ length: 3 }, (_, number) => asked(inboxB, number, { kind }))
    for (const request of waiting) await queue.acquire(request, call())
    await server.command('CONFIG', 'SET', 'maxmemory', 1)
    try {
      expect(await queue.acquire(asked(inboxB, 9, { kind }), call())).toMatchObject(noMemory)
      expect(await lookFor(inboxB, [0, 1, 2, 9])).toMatchObject({ type: 'looked', missing: [9] })
      expect(await queue.acquire(waiting[2] as QueuedAcquireRequest, call())).toMatchObject({
        type: 'queued',
        position: 2,
      })
      expect(await queue.leave({ key, inbox: inboxB, number: 1, acquisitionId: undefined }, call())).toEqual({
        type: 'left',
      })
      // A repeat finds its own token.
      expect(await grant(holding[0] as QueuedAcquireRequest)).toBe(tokens[0])
      if (kind === semaphore) {
        expect(await queue.renew([{ key, token: tokens[0] as string, ttlMs: 30_000 }], call())).toEqual([
          { type: 'renewed' },
        ])
        expect(await queue.resize(key, { ...kind, capacity: 3 }, call())).toEqual({ type: 'resized' })
        expect(await queue.resize(key, kind, call())).toEqual({ type: 'resized' })
      }
      expect(await giveBack(tokens[0] as string, kind)).toMatchObject(released)
      expect(await giveBack(tokens[0] as string, kind)).toMatchObject(released)
      const next = await grant(waiting[0] as QueuedAcquireRequest)
      expect(await giveBack(next, kind)).toMatchObject(released)
      await grant(waiting[2] as QueuedAcquireRequest)
    } finally {
      await server.command('CONFIG', 'SET', 'maxmemory', 0)
    }
  })
})

it('a waiter leaves a server without memory left, although a turn has to be taken back first', async () => {
  const token = await grant(asked(inboxA, 0))
  await queue.acquire(asked(inboxB, 0), call())
  await queue.acquire(asked(inboxB, 1), call())
  await giveBack(token)
  // A plain acquire is quicker than the waiter with the turn.
  await server.command('SET', 'lock:k', `${'c'.repeat(32)}.7`, 'PX', 20_000)
  await server.command('CONFIG', 'SET', 'maxmemory', 1)
  try {
    expect(await queue.leave({ key, inbox: inboxB, number: 1, acquisitionId: undefined }, call())).toEqual({
      type: 'left',
    })
  } finally {
    await server.command('CONFIG', 'SET', 'maxmemory', 0)
  }
})

it('who asks without a waiter gets a free lock at once if all who waited for it were killed', async () => {
  const killed = await connectRedisAdmin({ port: server.port })
  await killed.command('SUBSCRIBE', inboxChannel('lock:', inboxB))
  const token = await grant(asked(inboxA, 0))
  await queue.acquire(asked(inboxB, 0), call())
  await killed.close()
  await eventually(
    async () => ((await server.command('PUBSUB', 'NUMSUB', inboxChannel('lock:', inboxB))) as unknown[])[1] === 0,
  )
  // Its holder is gone, too: nobody releases it.
  await server.command('DEL', 'lock:k')
  const next = await grant(asked(inboxA, 1, { waiter: undefined }))
  expect(next).not.toBe(token)
})

it('a killed holder keeps its waiters for what is left of its ttl: they are told when to look', async () => {
  await grant(asked(inboxA, 0, { ttlMs: 400 }))
  const outcome = await queue.acquire(asked(inboxB, 0), call())
  const againInMs = (outcome as QueuedAcquireOutcome & { type: 'queued' }).againInMs ?? 0
  expect(againInMs).toBeGreaterThan(0)
  expect(againInMs).toBeLessThanOrEqual(400)
  await eventually(async () => (await server.command('EXISTS', 'lock:k')) === 0)
  expect(await lookFor(inboxB, [0])).toMatchObject({ turns: [0] })
})

it('what somebody else keeps under the key is refused by name, and left alone', async () => {
  const foreign: readonly (readonly [write: readonly (string | number)[], read: readonly string[]])[] = [
    [
      ['ZADD', 'lock:k', 1, 'one', 2, 'two.2 2'],
      ['ZRANGE', 'lock:k', '0', '-1', 'WITHSCORES'],
    ],
    [
      ['RPUSH', 'lock:k', 'one'],
      ['LRANGE', 'lock:k', '0', '-1'],
    ],
    [
      ['HSET', 'lock:k', 'one', '1'],
      ['HGETALL', 'lock:k'],
    ],
  ]
  for (const [write, read] of foreign) {
    await server.command('FLUSHALL')
    await server.command(...write)
    const before = await server.command(...read)
    for (const kind of [exclusive, semaphore]) {
      const mismatch = { type: 'refused', error: { code: 'KIND_MISMATCH' } }
      expect(await queue.acquire(asked(inboxA, 0, { kind }), call())).toMatchObject(mismatch)
      expect(await lookFor(inboxA, [0])).toMatchObject(mismatch)
      expect(await queue.resize(key, kind, call())).toMatchObject(mismatch)
      expect(await queue.inspect(key, call())).toMatchObject(mismatch)
      expect(await giveBack(`${'c'.repeat(32)}.7`, kind)).toMatchObject({ type: 'superseded' })
      expect(await queue.renew([{ key, token: `${'c'.repeat(32)}.7`, ttlMs: 9 }], call())).toEqual([
        { type: 'superseded' },
      ])
    }
    expect(await queue.leave({ key, inbox: inboxA, number: 0, acquisitionId: 'c'.repeat(32) }, call())).toEqual({
      type: 'absent',
    })
    expect(await server.command(...read)).toEqual(before)
    expect(await server.command('KEYS', '*')).toEqual(['lock:k'])
  }
})

it('of 300 readers 100 have the turn at once, and who takes one lets the next have it', async () => {
  const readers = { kind: { name: 'read-write', capacity: 1_000_000 }, permits: 1 } as const
  const writer = await grant(asked(inboxA, 0, { ...readers, permits: 1_000_000 }))
  const waiting = Array.from({ length: 300 }, (_, number) => asked(inboxB, number, readers))
  await Promise.all(waiting.map((request) => queue.acquire(request, call())))
  expect(await giveBack(writer, semaphore)).toMatchObject(released)
  const turns = async () => ((await lookFor(inboxB, [])) as LookOutcome & { type: 'looked' }).turns
  expect((await turns()).length).toBe(100)
  const [first] = await turns()
  await grant(waiting[first as number] as QueuedAcquireRequest)
  expect((await turns()).length).toBe(100)
  expect(await turns()).not.toContain(first)
})

it('of 2,500 readers that have died, a call drops 1,000, and says at once that more are left', async () => {
  const readers = { kind: { name: 'read-write', capacity: 1_000_000 }, permits: 1 } as const
  await Promise.all(Array.from({ length: 2_500 }, (_, at) => grant(asked(inboxA, at, { ...readers, ttlMs: 3_000 }))))
  const live = await grant(asked(inboxA, 3_000, readers))
  await queue.acquire(asked(inboxB, 0, { ...readers, permits: readers.kind.capacity }), call())
  const left = async () => Number(await server.command('ZCARD', 'lock:k'))
  await eventually(async () => Number(await server.command('ZCOUNT', 'lock:k', await nowMs(), '+inf')) === 1)
  expect(await queue.inspect(key, call())).toMatchObject({ holders: [{ permits: 1 }], waiting: 1 })
  expect([await lookFor(inboxB, [0]), await left()]).toMatchObject([{ againInMs: 0, turns: [] }, 1_501])
  expect([await lookFor(inboxB, [0]), await left()]).toMatchObject([{ againInMs: 0, turns: [] }, 501])
  expect([await lookFor(inboxB, [0]), await left()]).toMatchObject([{ againInMs: expect.any(Number), turns: [] }, 1])
  expect(await giveBack(live, semaphore)).toMatchObject(released)
  expect(await lookFor(inboxB, [0])).toMatchObject({ turns: [0] })
})

/** The server's time. */
async function nowMs(): Promise<string> {
  const [seconds, micros] = (await server.command('TIME')) as [string, string]
  return String(Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000))
}

it('a replica of the server carries nothing out, and says so', async () => {
  await using replica = await startRedis({ replicaOf: server })
  const onReplica = queueFor(replica)
  const readOnly = { type: 'unknown', executed: 'no', cause: { message: expect.stringContaining('READONLY') } }
  expect(await onReplica.acquire(asked(inboxA, 0), call())).toMatchObject(readOnly)
  expect(await onReplica.acquire(asked(inboxA, 0, { kind: semaphore }), call())).toMatchObject(readOnly)
})

describe.each([
  ['exclusive', exclusive],
  ['for several', semaphore],
])('when keys of a lock that is %s are evicted', (_, kind) => {
  const besides = ['queue', 'waiters', 'inboxes', 'state', 'fence'].map((record) => `{lock:k}:${record}`)

  it.each(besides)('without %s nobody is left waiting, and never do too many have it', async (evicted) => {
    const { random } = seededRandom()
    const waiting = new Map(Array.from({ length: 12 }, (_, at) => [at, asked(at % 2 ? inboxA : inboxB, at, { kind })]))
    const having = new Map<number, string>()
    for (let turn = 0; waiting.size > 0 || having.size > 0; turn++) {
      if (turn > 600) throw new Error(`${waiting.size} still wait`)
      if (turn % 10 === 9 && turn < 200) await server.command('DEL', evicted)
      const at = [...waiting.keys()][Math.floor(random() * waiting.size)]
      if (at !== undefined && random() < 0.7) {
        const outcome = await queue.acquire(waiting.get(at) as QueuedAcquireRequest, call())
        expect(outcome.type).toMatch(/^(granted|queued)$/)
        if (outcome.type === 'granted') {
          having.set(at, outcome.token)
          waiting.delete(at)
        }
      } else {
        const [[holder, token] = [-1, '']] = having
        if (holder >= 0) expect(await giveBack(token, kind)).toMatchObject(released)
        having.delete(holder)
      }
      expect(having.size).toBeLessThanOrEqual(kind.capacity)
      await everythingExpires()
    }
  })
})

it('T-39: whatever is asked, no key is without an expiry, and none outlives its last waiter by a minute and a half', async () => {
  const { random } = seededRandom()
  const tokens: string[] = []
  const kinds = [exclusive, semaphore, { name: 'read-write', capacity: 1_000_000 } as const]
  for (let step = 0; step < 600; step++) {
    const number = Math.floor(random() * 6)
    const inbox = number % 2 ? inboxA : inboxB
    const kind = kinds[Math.floor(step / 200)] as QueueKind
    const what = random()
    if (what < 0.5) {
      const outcome = await queue.acquire(asked(inbox, number, { kind, ttlMs: 5_000 }), call())
      if (outcome.type === 'granted') tokens.push(outcome.token)
    } else if (what < 0.6) {
      await queue.leave({ key, inbox, number, acquisitionId: undefined }, call())
    } else if (what < 0.7) {
      await lookFor(inbox, [number])
    } else if (what < 0.75) {
      await queue.renew([{ key, token: tokens.at(-1) ?? '', ttlMs: 5_000 }], call())
    } else {
      await giveBack(tokens.pop() ?? `${'c'.repeat(32)}.7`, kind)
    }
    await everythingExpires()
    if (step % 200 === 199) await server.command('FLUSHALL')
  }
})

/** Checked in one script, so that nothing expires in between. */
async function everythingExpires(): Promise<void> {
  const script = `
    local wrong = {}
    for _, key in ipairs(redis.call('KEYS', '*')) do
      local left = redis.call('PTTL', key)
      if left < 0 or left > 90000 and not string.find(key, ':fence') then wrong[#wrong + 1] = key .. ' ' .. left end
    end
    return wrong`
  expect(await server.command('EVAL', script, 0)).toEqual([])
}
