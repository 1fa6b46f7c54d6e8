import type { Lease, Locker, LockerEvent } from '@leasehold/core'
import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RedisArena, redisArena } from '../support/arena.ts'
import { elapse, eventually } from '../support/scale.ts'

/*
 * The server carries out a request, and its reply never arrives. ioredis has its defaults, so after a cut it also
 * resends the request by itself.
 */

let arena: RedisArena
let proxy: TcpProxy
let locks: Locker
let events: LockerEvent[]

beforeAll(async () => {
  arena = await redisArena()
  proxy = await startTcpProxy({ port: arena.server.port })
  locks = arena.client({
    store: arena.store(proxy.port),
    name: 'a',
    onEvent: (event) => events.push(event),
  })
  // The server knows every script, so that the next reply is that of the request itself.
  events = []
  const lease = await locks.acquire('warm')
  await lease.renew({ ttl: '10s' })
  await lease.release()
})
afterAll(async () => {
  await arena[Symbol.asyncDispose]()
  await proxy.stop()
})
beforeEach(() => {
  events = []
})

const stored = (key: string): Promise<unknown> => arena.command('GET', arena.prefix + key)

/** Two ways to lose a reply: with the connection, or for longer than an attempt waits while the connection stays up. */
const losses: readonly (readonly [string, () => Promise<void>])[] = [
  ['the connection is cut', () => proxy.dropNextReply('cut')],
  [
    'the connection stays open',
    async () => {
      const deliver = proxy.holdReplies()
      await proxy.nextRequest()
      // An attempt waits for a sixth of the ttl: 1 s. The second attempt is in flight when replies flow again.
      await proxy.nextRequest()
      await elapse(20)
      deliver()
    },
  ],
]

describe.each(losses)('a reply is lost and %s', (_, lose) => {
  const ttl = 6_000
  /** A grant and sixteen hand-offs within the process. */
  const reservedFences = 17

  it('acquire: one lease, one token, one fence', async () => {
    const lost = lose()
    const lease = await locks.acquire('acquire', { ttl, renew: false, wait: '5s' })
    await lost
    expect(await stored('acquire')).toBe(lease.token)
    expect(await arena.client().inspect('acquire')).toMatchObject({ holder: 'a', fence: lease.fence })
    const [, random, fence] = lease.token.split('.')
    const record = String(await arena.command('GET', `{${arena.prefix}acquire}:fence`))
    // A mark of how the previous lease ended may follow.
    expect(record.split('.').slice(0, 2)).toEqual([random, String(Number(fence) + reservedFences - 1)])
    expect(await lease.release()).toBe('released')
    expect(await stored('acquire')).toBeNull()
  })

  it('tryAcquire: settles within one command deadline, and never meets itself as "busy"', async () => {
    const lost = lose()
    const lease = await locks.tryAcquire('try', { ttl, renew: false })
    await lost
    expect(lease).not.toBeNull()
    expect(await stored('try')).toBe(lease?.token)
    expect(await lease?.release()).toBe('released')
  })

  it('explicit renew: extended, not lost', async () => {
    const lease = await locks.acquire('renew', { ttl, renew: false })
    const lost = lose()
    await lease.renew({ ttl: '30s' })
    await lost
    expect(lease.remaining()).toBeGreaterThan(20_000)
    expect(await arena.command('PTTL', `${arena.prefix}renew`)).toBeGreaterThan(20_000)
    expect(await lease.release()).toBe('released')
  })

  it('"by" adds once although it is sent twice', async () => {
    const lease = await locks.acquire('by', { ttl, renew: false })
    const lost = lose()
    await lease.renew({ by: '3s' })
    await lost
    for (const left of [await arena.command('PTTL', `${arena.prefix}by`), lease.remaining()]) {
      expect(left).toBeGreaterThan(ttl)
      expect(left).toBeLessThanOrEqual(ttl + 3_000)
    }
    expect(await lease.release()).toBe('released')
  })

  it('release: "released", and the next one gets it', async () => {
    const lease = await locks.acquire('release', { ttl, renew: false })
    const lost = lose()
    expect(await lease.release()).toBe('released')
    await lost
    const next = await arena.client().tryAcquire('release')
    expect(next).not.toBeNull()
    await next?.release()
  })

  it('release: "released" although the lock is another’s by the time the repeat arrives', async () => {
    const lease = await locks.acquire('taken', { ttl, renew: false })
    const successor = arena.client().acquire('taken', { wait: '5s', strategy: { delayMs: () => 1 } })
    const lost = lose()
    expect(await lease.release()).toBe('released')
    await lost
    await (await successor).release()
  })
})

describe('scheduled renewals without replies', () => {
  let lease: Lease
  it('are repeated, and the lease is not lost', async () => {
    lease = await locks.acquire('watchdog', { ttl: 3_000 })
    for (let round = 0; round < 3; round++) await proxy.dropNextReply('cut')
    expect(lease.signal.aborted).toBe(false)
    expect(lease.remaining()).toBeGreaterThan(0)
    expect(events.filter((event) => event.type === 'lost')).toEqual([])
    expect(await stored('watchdog')).toBe(lease.token)
    expect(await lease.release()).toBe('released')
  })
})

describe('giving up while nothing is known', () => {
  it('a release that knows only the random part undoes the acquire', async () => {
    const deliver = proxy.holdReplies()
    const error = await locks.acquire('undone', { ttl: '6s', wait: 300 }).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
    await eventually(async () => (await stored('undone')) === null)
    const repeated = proxy.nextRequest()
    const successor = await arena.client().tryAcquire('undone')
    expect(successor).not.toBeNull()
    // The clean-up has no answer yet, so it is sent a second time; it must not touch the successor.
    await repeated
    await proxy.nextReply()
    expect(await stored('undone')).toBe(successor?.token)
    deliver()
    await successor?.release()
  })
})
