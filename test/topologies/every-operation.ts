import type { Locker } from '@leasehold/core'
import { acquireAll } from '@leasehold/core/many'
import { fifo } from '@leasehold/core/queue'
import { within } from '@leasehold/core/re-entry'
import { readWriteLock } from '@leasehold/core/read-write'
import { claimRecord } from '@leasehold/core/records'
import { semaphore } from '@leasehold/core/semaphore'
import { sessions } from '@leasehold/sessions'
import { expect } from 'vitest'

/**
 * Calls each operation of each kind of lock once, and claims that it succeeds at the first try.
 *
 * @param before called before each operation
 * @param renewed resolves when the lock of this key has been renewed by itself
 * @returns how many of the operations run a script: all but re-entry and the way out of it
 */
export async function everyOperation(
  locks: Locker,
  tag: string,
  before: () => Promise<void> = async () => undefined,
  renewed: (key: string) => Promise<void> = async () => undefined,
): Promise<number> {
  let scripts = 0
  const sendsNothing = async <T>(operation: () => Promise<T>): Promise<T> => {
    await before()
    return operation()
  }
  const runs = <T>(operation: () => Promise<T>): Promise<T> => {
    scripts++
    return sendsNothing(operation)
  }
  const key = `{${tag}}lock`
  const minute = { ttl: '1m', wait: 0 } as const

  const renewing = await runs(() => locks.acquire(`{${tag}}renewing`, { ttl: '6s', wait: 0 }))
  await runs(() => renewed(renewing.key))
  renewing.assertValid()
  expect(await runs(() => renewing.release())).toBe('released')

  const lease = await runs(() => locks.acquire(key, minute))
  const again = await sendsNothing(() => within(locks, lease).acquire(key))
  await runs(() => lease.renew({ ttl: '2m' }))
  expect(await runs(() => locks.tryAcquire(key))).toBeNull()
  expect(await runs(() => locks.inspect(key))).toMatchObject({ held: true, fence: lease.fence })
  expect(await sendsNothing(() => again.release())).toBe('released')
  expect(await runs(() => lease.release())).toBe('released')
  expect(await runs(() => locks.revoke(key))).toBe(false)

  const queued = await runs(() => locks.acquire(`{${tag}}queue`, { ...minute, queue: fifo() }))
  await runs(() => queued.renew({ ttl: '2m' }))
  expect(await runs(() => queued.release())).toBe('released')

  const pool = semaphore(locks, `{${tag}}pool`, { permits: 2 })
  const permit = await runs(() => pool.acquire(minute))
  expect(await runs(() => permit.release())).toBe('released')

  const doc = readWriteLock(locks, `{${tag}}doc`)
  const write = await runs(() => doc.write(minute))
  expect(await runs(() => doc.tryRead())).toBeNull()
  expect(await runs(() => write.release())).toBe('released')
  const read = await runs(() => doc.read(minute))
  expect(await runs(() => read.release())).toBe('released')

  const both = await runs(() => acquireAll(locks, [`{${tag}}a`, `{${tag}}b`], minute))
  await runs(() => both.release())

  const claim = await runs(() => claimRecord(locks, `{${tag}}record`, { fingerprint: 'same', ...minute }))
  if (claim.type !== 'claimed') throw new Error(claim.type)
  expect(await runs(() => claim.run.complete(new Uint8Array([1])))).toMatchObject({ type: 'completed' })

  const registry = sessions(locks)
  const enter = { resource: `{${tag}}room`, role: 'writer', userId: 'ada', sessionId: 'tab' }
  const entered = await runs(() => registry.enter(enter))
  if (entered.type !== 'entered') throw new Error(entered.type)
  expect(await runs(() => registry.verify(enter.resource, enter.role, 'bob'))).toBe(false)
  await runs(() => entered.session.leave())
  expect(entered.session.end).toBe('left')
  await registry.close()
  return scripts
}
