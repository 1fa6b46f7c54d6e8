import { createLocker, type Locker } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { detach, type HandOverStore, handOverOf, type ResumeRequest, resume } from '@leasehold/core/hand-over'
import { ioredisStore } from '@leasehold/ioredis'
import { callUntil } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LossyWay, lossyWays, plainClient, unanswered } from '../support/lossy-ways.ts'
import type { User } from '../support/ways.ts'

/*
 * Leases handed over when replies are lost, when requests arrive twice, when the server is out of memory, and when it
 * forbids something.
 */

let redis: RedisServer
/** Connected to the server itself. */
let direct: LeaseStore
let ways: readonly LossyWay[]
const clients: Redis[] = []

beforeAll(async () => {
  redis = await startRedis()
  direct = ioredisStore(client(redis.port))
  ways = await lossyWays(redis)
  // The server knows every script, so that a request is one command.
  for (const { store, name } of ways) {
    const key = `${name}-warm`
    const given = await asked(key)
    await handOver(store).resume(given, call())
    await store.renew([{ key, token: given.token, ttlMs: 1_000 }], call())
    await store.release([{ key, acquisitionId: given.acquisitionId }], call())
  }
})
afterAll(async () => {
  for (const way of ways) await way[Symbol.asyncDispose]()
  for (const each of clients) each.disconnect()
  await redis.stop()
})

/** A client connected to a server itself. */
function client(port: number, user?: User): Redis {
  const made = plainClient(port, user)
  clients.push(made)
  return made
}

function handOver(store: LeaseStore): HandOverStore {
  const offered = handOverOf(store)
  if (!offered) throw new Error('The store offers no hand-over')
  return offered
}

const call = () => callUntil(new AbortController().signal)
let drawn = 0
const acquisitionId = (): string => (++drawn).toString(16).padStart(32, '0')

async function grant(key: string, store: LeaseStore = direct): Promise<{ token: string; fence: number }> {
  const request = { key, acquisitionId: acquisitionId(), ttlMs: 60_000, fences: 17 }
  const [outcome] = await store.acquire([request], call())
  expect(outcome).toMatchObject({ type: 'granted' })
  return outcome as { token: string; fence: number }
}

/** A request to resume a lease, which is granted for that purpose. */
async function asked(key: string, store?: LeaseStore): Promise<ResumeRequest> {
  const { token, fence } = await grant(key, store)
  return { key, token, fence, acquisitionId: acquisitionId(), ttlMs: 60_000 }
}

describe.each([
  ['TCP', 0],
  ['HTTP', 1],
])('over %s', (_, at) => {
  const way = (): LossyWay => ways[at] as LossyWay
  const key = (what: string): string => `${way().name}-${what}`
  const locker = (name: string): Locker => createLocker({ store: way().store, name })

  it('a resume whose reply was lost finds its own lease, and no other process gets one', async () => {
    const request = await asked(key('lost'))
    await unanswered(way(), (given) => handOver(way().store).resume(request, given))
    const other = { ...request, acquisitionId: acquisitionId() }
    expect(await handOver(direct).resume(other, call())).toEqual({ type: 'superseded' })
    expect(await handOver(way().store).resume(request, call())).toMatchObject({ type: 'granted' })
  })

  it('one that is given up is undone by its acquisition id, and the key can be acquired', async () => {
    const request = await asked(key('undone'))
    await unanswered(way(), (given) => handOver(way().store).resume(request, given))
    const undo = { key: request.key, acquisitionId: request.acquisitionId }
    expect(await way().store.release([undo], call())).toMatchObject([{ type: 'released' }])
    expect(await handOver(way().store).resume(request, call())).toEqual({ type: 'spent' })
    await grant(request.key)
    expect(await handOver(way().store).resume(request, call())).toEqual({ type: 'superseded' })
  })

  it('one that arrives twice is one lease', async () => {
    const request = await asked(key('twice'))
    const doubled = way().twice()
    const outcome = await handOver(way().store).resume(request, call())
    await doubled
    expect(outcome).toMatchObject({ type: 'granted' })
    const { token } = outcome as { token: string }
    expect(await direct.release([{ key: request.key, token }], call())).toMatchObject([{ type: 'released' }])
  })

  it('a locker hands its lease over though each reply is lost once: of the detach, the resume and the release', async () => {
    const [from, to] = [locker('from'), locker('to')]
    const lease = await from.acquire(key('locker'), { renew: false, ttl: '30s' })
    const lost = way().loseReply()
    const message = await detach(lease, { ttl: '1m' })
    await lost
    const lostToo = way().loseReply()
    const taken = await resume(to, message, { renew: false, ttl: '30s' })
    await lostToo
    expect(taken.commands).toBeGreaterThan(1)
    expect(await to.inspect(message.key)).toMatchObject({ holder: 'to', fence: taken.fence })
    const lostAsWell = way().loseReply()
    expect(await taken.release()).toBe('released')
    await lostAsWell
  })

  it('a flushed server knows of no lease, and mints higher fences all the same', async () => {
    const request = await asked(key('flushed'))
    await redis.command('DEL', `lock:${request.key}`, `{lock:${request.key}}:fence`)
    expect(await handOver(way().store).resume(request, call())).toEqual({ type: 'gone' })
    // Only the fence record was evicted.
    const second = await asked(key('evicted'))
    await redis.command('DEL', `{lock:${second.key}}:fence`)
    const high = { ...second, fence: second.fence + 1_000_000_000 }
    const outcome = await handOver(way().store).resume(high, call())
    expect((outcome as { fence: number }).fence).toBe(high.fence + 1)
    expect(await redis.command('PTTL', `{lock:${second.key}}:fence`)).toBeGreaterThan(500_000)
  })

  it('something else in the place of a lock or its fence record is told by name, and left alone', async () => {
    const [lock, record] = [key('list'), key('set')]
    const request = await asked(record)
    await redis.command('RPUSH', `lock:${lock}`, 'a')
    await redis.command('DEL', `{lock:${record}}:fence`)
    await redis.command('SADD', `{lock:${record}}:fence`, 'a')
    for (const name of [lock, record]) {
      const outcome = await handOver(way().store).resume({ ...request, key: name }, call())
      expect(outcome).toMatchObject({ type: 'refused', error: { code: 'KIND_MISMATCH' } })
    }
    expect(await redis.command('GET', `lock:${record}`)).toBe(request.token)
    await expect(resume(locker('any'), { ...request, key: lock })).rejects.toMatchObject({
      code: 'KIND_MISMATCH',
      key: lock,
    })
    await redis.command('DEL', `lock:${lock}`, `{lock:${record}}:fence`)
  })
})

describe('of five consumers of one message', () => {
  /** How many of them believe that they have the lease. */
  async function holders(key: string, take: (request: ResumeRequest) => Promise<string>): Promise<number> {
    const request = await asked(key)
    const taken = await Promise.all(Array.from({ length: 5 }, () => take(request)))
    return taken.filter((type) => type === 'granted' || type === 'renewed').length
  }

  it('one has the lease, though each of its requests arrives twice', async () => {
    const take = async (request: ResumeRequest): Promise<string> => {
      const own = { ...request, acquisitionId: acquisitionId() }
      const [, second] = await Promise.all([1, 2].map(() => handOver(direct).resume(own, call())))
      return second?.type ?? ''
    }
    expect(await holders('one', take)).toBe(1)
  })

  it('the check would see all five, if they went on under the token of the message', async () => {
    const take = async ({ key, token }: ResumeRequest): Promise<string> => {
      const [outcome] = await direct.renew([{ key, token, ttlMs: 60_000 }], call())
      return outcome?.type ?? ''
    }
    expect(await holders('all', take)).toBe(5)
  })
})

it('a server without memory left lets leases change hands: that takes no more than is taken', async () => {
  const full = await startRedis()
  try {
    const store = ioredisStore(client(full.port))
    const locks = createLocker({ store })
    const lease = await locks.acquire('full')
    await full.command('CONFIG', 'SET', 'maxmemory', 1)
    const message = await detach(lease, { ttl: '1m' })
    const taken = await resume(locks, message)
    expect(taken.fence).toBeGreaterThan(message.fence)
    // Any number of hand-overs is accepted; a new lock is still refused.
    const again = await resume(locks, await detach(taken, { ttl: '1m' }))
    await expect(locks.tryAcquire('other')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await again.release()).toBe('released')
    expect(await full.command('KEYS', '*')).toEqual(['{lock:full}:fence'])
  } finally {
    await full.stop()
  }
})

it('a user who may not change the lock is refused by name, and the message is as good as before', async () => {
  const rights = '~lock:* ~{lock:* &lock:release:* +eval +evalsha +get +set +del +pexpire +pttl +time +publish +info'
  const allowed = rights.split(' ')
  const request = await asked('permitted')
  for (const [name, ...forbidden] of [
    ['blind', '-get'],
    ['still', '-pexpire'],
    ['timeless', '-time'],
    ['mute', '-set'],
  ] as const) {
    await redis.command('ACL', 'SETUSER', name, 'on', '>secret', ...allowed, ...forbidden)
    const locks = createLocker({ store: ioredisStore(client(redis.port, { username: name, password: 'secret' })) })
    const error: unknown = await resume(locks, request).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', refused: true, executed: 'no', key: 'permitted' })
    expect(String(error)).not.toContain(request.token.slice(0, 32))
  }
  // The documented rights are enough.
  await redis.command('ACL', 'SETUSER', 'enough', 'on', '>secret', ...allowed)
  const locks = createLocker({ store: ioredisStore(client(redis.port, { username: 'enough', password: 'secret' })) })
  expect(await (await resume(locks, request)).release()).toBe('released')
})

it('every entry expires, whatever came between', async () => {
  const names = (await redis.command('KEYS', '*')) as string[]
  expect(names.length).toBeGreaterThan(8)
  for (const name of names) expect(Number(await redis.command('PTTL', name)), name).toBeGreaterThan(0)
})
