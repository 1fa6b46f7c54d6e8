import {
  AcquireTimeoutError,
  createLocker,
  InvalidOptionError,
  type Lease,
  LeaseholdError,
  LeaseLostError,
} from '@leasehold/core'
import { sharesBetweenCalls } from '@leasehold/core/adapter'
import { check } from '@leasehold/core/check'
import { type Leadership, lead, leaderOf } from '@leasehold/core/election'
import { fenceGate, writeFence } from '@leasehold/core/fencing'
import { type DetachedLease, detach, resume } from '@leasehold/core/hand-over'
import { type LeaseSet, releaseAll, tryAcquireAll, tryAcquireEach, withLocks } from '@leasehold/core/many'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { type OnceRun, once } from '@leasehold/core/once'
import { fifo, inspectQueue, priority, type QueueState } from '@leasehold/core/queue'
import { within } from '@leasehold/core/re-entry'
import { type ReadLease, readWriteLock } from '@leasehold/core/read-write'
import { claimRecord, type RecordClaim } from '@leasehold/core/records'
import { type RedisTransport, redisStore } from '@leasehold/core/redis'
import { holdAtLeast } from '@leasehold/core/schedule'
import { type PermitLease, semaphore } from '@leasehold/core/semaphore'

const silent: RedisTransport = {
  commandDeadlineMs: 100,
  cluster: false,
  countsSubscribers: true,
  nodeOf: () => '',
  whenReady: () => undefined,
  run: async (calls) => calls.map(() => ({ type: 'unknown', executed: 'no' })),
}

/** What the embedded store and the ports of core do for whoever imports them. */
export async function main(): Promise<string> {
  const store = memoryStore()
  const locks = createLocker({ store, notifier: memoryNotifier(store), name: 'set-ups' })
  const { findings } = await check({ store })
  if (findings[0]?.code !== 'ONE_PROCESS') throw findings
  const lease: Lease = await locks.acquire('order:1', { ttl: '5s', wait: 0 })
  const problem = await locks.acquire('order:1', { wait: '10ms' }).catch((error: unknown) => error)
  if (!(problem instanceof AcquireTimeoutError) || problem instanceof LeaseLostError) throw problem
  const { key, commands }: { key: string; commands: number } = problem

  const headers = new Headers()
  writeFence(headers, lease.fence)
  const refused = await fenceGate(headers, (fence) => fence === lease.fence)
  await lease.release()
  const total = await locks.withLock('order:2', { ttl: '5s' }, (held) => held.fence + commands)

  const message: DetachedLease = await detach(await locks.acquire('import:1'), { ttl: '1m' })
  const taken: Lease = await resume(locks, message, { ttl: '5s' })
  if ((await taken.release()) !== 'released') throw taken

  const claim: RecordClaim = await claimRecord(locks, 'payment:1', { fingerprint: 'same' })
  if (claim.type === 'claimed') await claim.run.complete(Uint8Array.of(1, 2))
  const again = await claimRecord(locks, 'payment:1', { fingerprint: 'same' })
  if (again.type !== 'done' || again.record.state !== 'done' || again.record.result.length !== 2) throw again

  const first: Lease = await locks.acquire('job', { queue: fifo() })
  const second: Promise<Lease> = locks.acquire('job', { queue: priority(1) })
  let queue: QueueState
  do queue = await inspectQueue(locks, 'job')
  while (queue.waiting === 0)
  await first.release()
  await (await second).release()

  const work = async ({ fence }: OnceRun): Promise<{ fence: number }> => ({ fence })
  const [one, other] = await Promise.all([once(locks, 'report', work), once(locks, 'report', work, { keep: '1m' })])
  if (one.fence !== other.fence) throw other

  const terms: Leadership[] = []
  const candidate = lead(locks, 'leader', (term) => terms.push(term), { ttl: '5s' })
  await candidate.ended
  if (terms.length !== 1 || (await leaderOf(locks, 'leader'))) throw terms
  const permits: PermitLease = await semaphore(locks, 'pool', { permits: 3 }).acquire({ permits: 2 })
  if (permits.permits !== 2 || (await permits.release()) !== 'released') throw permits
  const read: ReadLease = await readWriteLock(locks, 'doc').read()
  if ((await readWriteLock(locks, 'doc').tryWrite()) || (await read.release()) !== 'released') throw read
  const set: LeaseSet | null = await tryAcquireAll(locks, ['stock:2', 'stock:1'])
  if (!set || (await tryAcquireEach(locks, ['stock:1', 'stock:3'])).size !== 1) throw set
  if ((await releaseAll(set)).join() !== 'released,released') throw set
  const nested = await withLocks(locks, ['nested'], ({ leases }) =>
    within(locks, leases.get('nested') as Lease).withLock('nested', (hold) => hold.fence),
  )
  await holdAtLeast(locks, '1m').withLock('job', (held) => held.fence > nested)
  if (!(await locks.isLocked('job'))) throw nested

  const unreachable = createLocker({ store: redisStore(silent) })
  const silence = await unreachable.tryAcquire(key).catch((error: unknown) => error)
  if (!(silence instanceof LeaseholdError) || silence instanceof InvalidOptionError) throw silence
  await locks.close()
  return `${refused === null} ${total > 0} ${silence.code} ${sharesBetweenCalls()}`
}
