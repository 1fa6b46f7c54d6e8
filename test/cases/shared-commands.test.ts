import type { Lease, LockerEvent, LockerOptions } from '@leasehold/core'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { scriptCalls, type User, type Way, ways } from '../support/ways.ts'

/*
 * Calls made in one turn of the event loop share commands, and nobody pays for a neighbor. Counted by Redis itself, and
 * over HTTP also by the sender of the requests.
 */

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
beforeEach(async () => {
  await server.command('FLUSHALL')
})
afterAll(() => server.stop())

const keys = (count: number): string[] => Array.from({ length: count }, (_, index) => `k${index}`)
const acquisitions = ({ locks }: Way, wanted: readonly string[]): Promise<Lease>[] =>
  wanted.map((key) => locks.acquire(key))
const acquireAll = (way: Way, wanted: readonly string[]): Promise<Lease[]> => Promise.all(acquisitions(way, wanted))
const releaseAll = (leases: readonly Lease[]): Promise<string[]> => Promise.all(leases.map((lease) => lease.release()))
/** The outcome of each call; an error is a value like any other. */
const settled = (calls: readonly Promise<unknown>[]): Promise<unknown[]> =>
  Promise.all(calls.map((call) => call.catch((error: unknown) => error)))

const locksInStore = async (): Promise<unknown> => await server.command('KEYS', 'lock:*')

/** The store has exactly the grants that the holders were told of. */
async function areHeld(...leases: readonly unknown[]): Promise<void> {
  for (const lease of leases as readonly Lease[]) {
    expect(lease.remaining()).toBeGreaterThan(0)
    expect(await server.command('GET', `lock:${lease.key}`)).toBe(lease.token)
  }
}

interface Sent {
  /** Script calls counted by Redis. */
  readonly scripts: number
  readonly requests: number | undefined
}

/** Counts what calls send. */
async function counted<T>(way: Way, calls: () => Promise<T>): Promise<readonly [result: T, sent: Sent]> {
  const requestsBefore = way.requests ?? 0
  const before = await scriptCalls(server)
  const result = await calls()
  const scripts = (await scriptCalls(server)) - before
  return [result, { scripts, requests: way.requests && way.requests - requestsBefore }]
}

describe.each(ways)('%s', (_, open) => {
  /** A way whose scripts the server already knows. */
  async function warm(options?: Partial<LockerOptions>, user?: User): Promise<Way> {
    const way = await open(server, options, user)
    const lease = await way.locks.acquire('ok:warm-up')
    await lease.renew({ ttl: '20s' })
    await lease.release()
    return way
  }
  const commands = (scripts: number, { requests }: Way, trips = scripts): Sent => ({
    scripts,
    requests: requests && trips,
  })

  it('200 acquires of one turn are 4 commands, and their releases 4 more', async () => {
    await using way = await warm()
    const [leases, acquires] = await counted(way, () => acquireAll(way, keys(200)))
    expect(acquires).toEqual(commands(4, way))
    expect(new Set(leases.map(({ token }) => token)).size).toBe(200)
    for (const lease of leases) expect(lease.remaining()).toBeGreaterThan(0)
    expect(leases.every((lease) => lease.commands === 1)).toBe(true)
    expect(await server.command('MGET', ...leases.map(({ key }) => `lock:${key}`))).toEqual(
      leases.map(({ token }) => token),
    )
    const [results, releases] = await counted(way, () => releaseAll(leases))
    expect(releases).toEqual(commands(4, way))
    expect(new Set(results)).toEqual(new Set(['released']))
    expect(await locksInStore()).toEqual([])
  })

  it('a key of another type among three costs only its own caller the lock, and no command', async () => {
    await using way = await warm()
    await server.command('HSET', 'lock:hash', 'field', 'value')
    const [[first, second, third], sent] = await counted(way, () => settled(acquisitions(way, ['a', 'hash', 'c'])))
    expect(sent).toEqual(commands(1, way))
    expect(second).toMatchObject({ code: 'KIND_MISMATCH', key: 'hash' })
    await areHeld(first, third)
    expect(await releaseAll([first as Lease, third as Lease])).toEqual(['released', 'released'])
    expect(await locksInStore()).toEqual(['lock:hash'])
  })

  describe('a key that the user has no right to, among three,', () => {
    const user = { username: 'some', password: 'secret' }
    const setKeys = (...patterns: readonly string[]): Promise<unknown> =>
      server.command('ACL', 'SETUSER', 'some', 'reset', 'on', '>secret', '+@all', '&*', ...patterns)
    const rights = ['~lock:ok:*', '~{lock:ok:*']
    const three = ['ok:1', 'other', 'ok:2']
    const noPermission = {
      code: 'STORE_UNAVAILABLE',
      executed: 'no',
      cause: { message: expect.stringMatching(/NOPERM|No permissions/i) },
    }

    it('costs only its own caller the lock', async () => {
      await setKeys(...rights)
      await using way = await warm({}, user)
      const [[first, second, third], sent] = await counted(way, () => settled(acquisitions(way, three)))
      // Together, and then each alone, in one round trip.
      expect(sent).toEqual(commands(4, way, 2))
      expect(second).toMatchObject({ ...noPermission, key: 'other' })
      await areHeld(first, third)
      expect(await releaseAll([first as Lease, third as Lease])).toEqual(['released', 'released'])
      expect(await locksInStore()).toEqual([])
      // Not even a fence was minted for it.
      expect(await server.command('EXISTS', '{lock:other}:fence')).toBe(0)
    })

    it('costs only its own lease a renewal, and keeps no other lock from being freed', async () => {
      await setKeys('~*')
      const refused: unknown[] = []
      const onEvent = (event: LockerEvent): void => {
        if (event.type === 'release-refused') refused.push(event)
      }
      await using way = await warm({ onEvent }, user)
      const leases = await acquireAll(way, three)
      await setKeys(...rights)
      const [renewals, sent] = await counted(way, () => settled(leases.map((lease) => lease.renew({ ttl: '60s' }))))
      expect(sent).toEqual(commands(4, way, 2))
      expect(renewals).toMatchObject([undefined, { ...noPermission, key: 'other' }, undefined])
      expect(leases.map((lease) => lease.remaining() > 30_000)).toEqual([true, false, true])
      expect(await releaseAll(leases)).toEqual(['released', 'unknown', 'released'])
      expect(refused).toMatchObject([{ key: 'other', cause: noPermission.cause }])
      expect(await locksInStore()).toEqual(['lock:other'])
    })
  })

  it('on a full server every release of a turn frees its lock, and every acquire is told how it is', async () => {
    await using way = await warm()
    const other = await way.locks.acquire('held')
    const leases = await acquireAll(way, keys(20))
    await server.command('CONFIG', 'SET', 'maxmemory', 1)
    onTestFinished(async () => void (await server.command('CONFIG', 'SET', 'maxmemory', 0)))
    const wanted = [...keys(20).map((key) => `new-${key}`), ...leases.map(({ key }) => key)]
    const releasing = releaseAll(leases)
    // One command each, so that no other is cut short by the end of the wait.
    const acquiring = settled(wanted.map((key) => way.locks.acquire(key, { budget: 1 })))
    const contended = way.locks.tryAcquire('held')
    const [results, errors] = await Promise.all([releasing, acquiring])
    expect(await contended).toBeNull()
    expect(new Set(results)).toEqual(new Set(['released']))
    for (const error of errors) {
      expect(error).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        executed: 'no',
        cause: { message: expect.stringContaining('OOM') },
      })
    }
    expect(await other.release()).toBe('released')
    expect(await locksInStore()).toEqual([])
  })

  it('a script that the server has forgotten is sent once more for all 7', async () => {
    await using way = await warm()
    await server.command('SCRIPT', 'FLUSH')
    const [leases, sent] = await counted(way, () => acquireAll(way, keys(7)))
    expect(sent).toEqual(commands(2, way))
    await areHeld(...leases)
    await releaseAll(leases)
  })
})
