import { createLocker } from '@leasehold/core'
import { type ListedLock, listingOf, listLocks, readLocks, revokeFrom, revokeFromOf } from '@leasehold/core/listing'
import { queueOf } from '@leasehold/core/queue'
import { type ReleaseAfterStore, releaseAfterOf } from '@leasehold/core/schedule'
import { expect, it, type TestContext } from 'vitest'
import { callUntil } from '../call-until.ts'
import { ampleMs, longMs, type Probe, shortMs, slackMs } from './probe.ts'
import { QueueProbe, readWrite, semaphoreOf } from './queue-probe.ts'

/** More locks than one read returns. */
const many = 230

/** Claims about lists of locks, for a store that offers them. */
export function listingClaims(probe: Probe): void {
  const queues = new QueueProbe(probe)
  const claim = (name: string, test: (context: TestContext) => Promise<void>): void =>
    it(name, async (context) => {
      if (!listingOf(probe.store)) context.skip('lists: the store does not offer them')
      await test(context)
    })
  async function list(pattern: string): Promise<readonly ListedLock[]> {
    const found: ListedLock[] = []
    for await (const lock of listLocks(createLocker({ store: probe.store }), { pattern })) found.push(lock)
    return found.sort((one, other) => (one.key < other.key ? -1 : 1))
  }

  claim('has each lock once, with who has it, since when and for how long', async () => {
    const group = probe.key()
    const keys = Array.from({ length: many }, (_, at) => `${group}:${1_000 + at}`)
    const requests = keys.map((key) => ({
      key,
      ttlMs: longMs,
      acquisitionId: probe.acquisitionId('holder'),
      fences: 1,
    }))
    const outcomes = await probe.store.acquire(requests, callUntil(probe.signal))
    const found = await list(`${group}:*`)
    expect(found.map(({ key }) => key)).toEqual(keys)
    const fences = outcomes.map((outcome) => outcome.type === 'granted' && outcome.fence)
    expect(found.map(({ fence }) => fence)).toEqual(fences)
    for (const lock of found) {
      expect(lock).toMatchObject({
        kind: 'exclusive',
        capacity: 1,
        holders: 1,
        holder: 'holder',
        waiting: 0,
        isKept: false,
      })
      expect(lock.expiresInMs).toBeLessThanOrEqual(longMs)
      expect(lock.expiresInMs).toBeGreaterThan(longMs - slackMs)
      expect(lock.since?.getTime()).toBe(Math.floor((lock.fence ?? 0) / 1_000))
    }
    expect(await list(`${group}:10?1`)).toHaveLength(10)
    expect((await list(`${group}:110[13-5]`)).map(({ key }) => key.slice(-1))).toEqual(['1', '3', '4', '5'])
  })

  claim('a lock is revoked from the holder that was seen, and from nobody who came after', async (context) => {
    if (!revokeFromOf(probe.store)) context.skip('revocations from one holder: the store does not offer them')
    const locks = createLocker({ store: probe.store })
    const key = probe.key()
    const seen = await probe.grant({ key })
    expect(await revokeFrom(locks, key, seen.fence + 1)).toBe('held')
    expect(await revokeFrom(locks, key, null)).toBe('held')
    expect(await revokeFrom(locks, key, seen.fence)).toBe('revoked')
    expect(await revokeFrom(locks, key, seen.fence)).toBe('free')
    const successor = await probe.grant({ key })
    expect(await revokeFrom(locks, key, seen.fence)).toBe('held')
    expect(await locks.inspect(key)).toMatchObject({ held: true, fence: successor.fence })
  })

  claim('has nothing of what is released, expired or beside a lock', async () => {
    const group = probe.key()
    const { token } = await probe.grant({ key: `${group}:released` })
    await probe.release({ key: `${group}:released`, token })
    await probe.grant({ key: `${group}:expired`, ttlMs: shortMs })
    await probe.grant({ key: `${group}:held` })
    await probe.advance(shortMs)
    expect((await list(`*${group}*`)).map(({ key }) => key)).toEqual([`${group}:held`])
  })

  claim('takes a pattern’s escaped characters for themselves, and has keys with hash tags', async () => {
    const key = `${probe.key()}:*?[a]`
    await probe.grant({ key })
    await probe.grant({ key: `${key.slice(0, -5)}xya` })
    expect((await list(key.replace(/[*?[\]]/g, '\\$&'))).map((lock) => lock.key)).toEqual([key])
    const tagged = `order:{${probe.key()}}`
    await probe.grant({ key: tagged })
    expect((await list(tagged)).map((lock) => lock.key)).toEqual([tagged])
  })

  claim('has a foreign holder, and tells nothing of its value', async (context) => {
    probe.needs(context, 'foreign-holders')
    const key = probe.key()
    await probe.admin.replace(key, null, 'secret.12')
    expect(await list(key)).toMatchObject([
      { key, holders: 1, holder: null, fence: null, since: null, expiresInMs: null },
    ])
  })

  claim('has a lock that stays taken although nobody holds it', async (context) => {
    if (!releaseAfterOf(probe.store)) context.skip('releases that take effect later: the store does not offer them')
    const key = probe.key()
    const { token, fence } = await probe.grant({ key, acquisitionId: probe.acquisitionId('job') })
    const { releaseAfter } = releaseAfterOf(probe.store) as ReleaseAfterStore
    await releaseAfter([{ key, token, afterMs: longMs }], callUntil(probe.signal))
    expect(await list(key)).toMatchObject([{ key, holders: 0, holder: 'job', fence, isKept: true }])
  })

  claim('has who waits, also while the next is about to take the lock', async (context) => {
    if (!queueOf(probe.store)) context.skip('queues: the store does not offer them')
    const inbox = queues.inbox()
    for (const key of [probe.key(), `order:{${probe.key()}}`]) {
      const { token } = await queues.take({ key })
      await queues.enter({ key, waiter: inbox.waiter(1) })
      await queues.enter({ key, waiter: inbox.waiter(2) })
      expect(await list(key)).toMatchObject([{ key, kind: 'exclusive', holders: 1, waiting: 2 }])
      await queues.release({ key, token })
      const [next] = await list(key)
      expect(next).toMatchObject({ key, holders: 0, holder: null, fence: null, expiresInMs: null, waiting: 2 })
    }
  })

  claim('has locks for several holders', async (context) => {
    if (!queueOf(probe.store)) context.skip('queues: the store does not offer them')
    const group = probe.key()
    const [pool, doc] = [`${group}:a`, `${group}:b`]
    const kind = semaphoreOf(3)
    const { fence } = await queues.take({ key: pool, kind, acquisitionId: probe.acquisitionId('first') })
    expect(await list(pool)).toMatchObject([{ kind: 'semaphore', capacity: 3, holders: 1, holder: 'first', fence }])
    await queues.take({ key: pool, kind, ttlMs: ampleMs })
    await queues.take({ key: doc, kind: readWrite, permits: readWrite.capacity })
    const [two, written] = await list(`${group}:*`)
    expect(two).toMatchObject({ key: pool, holders: 2, holder: null, fence: null, since: null, waiting: 0 })
    expect(two?.expiresInMs).toBeGreaterThan(longMs - slackMs)
    expect(written).toMatchObject({ key: doc, kind: 'read-write', holders: 1 })
    await probe.advance(ampleMs)
    expect(await list(pool)).toMatchObject([{ holders: 1, holder: 'first', fence }])
  })

  claim('reads locks by their keys, without those that are free', async () => {
    const [held, free] = [probe.key(), probe.key()]
    const { fence } = await probe.grant({ key: held })
    const found = await readLocks(createLocker({ store: probe.store }), [free, held])
    expect(found).toMatchObject([{ key: held, fence }])
  })

  claim('ends with the signal’s reason', async () => {
    const reason = new Error('enough')
    const locks = createLocker({ store: probe.store })
    await expect(listLocks(locks, { signal: AbortSignal.abort(reason) }).next()).rejects.toBe(reason)
  })
}
