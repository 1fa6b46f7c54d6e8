import { setTimeout as sleep } from 'node:timers/promises'
import { AcquireTimeoutError, createLocker } from '@leasehold/core'
import { pubsubNotifier } from '@leasehold/core/redis'
import { openConnection } from '../connection/connection.ts'
import { withoutSecrets } from '../connection/settings.ts'
import type { Hold, StressOrders, StressReport } from './orders.ts'

/** The longest wait for the lock, in milliseconds: a stuck lock is reported, not waited for. */
const mostWaitMs = 10_000
/** How many failures a caller reports before it gives up: a Redis that is down stays down. */
const mostFailures = 3

const nowNs = (): number => Number(process.hrtime.bigint())

/** The work of one `stress` process: until time is up, its callers acquire the lock, hold it briefly and release it. */
export async function contend(orders: StressOrders, tell: (report: StressReport) => void): Promise<StressReport> {
  const { settings, key, callers, forMs, holdMs, ttlMs } = orders
  await using connection = await openConnection(settings, new AbortController().signal)
  const { store, subscriber } = connection
  const notifier = subscriber && pubsubNotifier(subscriber, { prefix: settings.prefix })
  const locks = createLocker({
    store,
    ...(notifier && { notifier }),
    name: `stress-${process.pid}`,
    ttl: ttlMs,
    wait: mostWaitMs,
  })
  const holds: Hold[] = []
  const failures: string[] = []
  let timeouts = 0
  tell({ type: 'ready' })
  const endMs = performance.now() + forMs

  async function holdOnce(): Promise<Hold> {
    const askedMs = performance.now()
    const lease = await locks.acquire(key)
    const enteredNs = nowNs()
    const waitedMs = performance.now() - askedMs
    let lostNs: number | undefined
    lease.signal.addEventListener('abort', () => {
      lostNs = nowNs()
    })
    await sleep(Math.random() * holdMs)
    const leftNs = lostNs ?? nowNs()
    await lease.release()
    return { enteredNs, leftNs, fence: lease.fence, waitedMs, isLost: lostNs !== undefined }
  }

  async function caller(): Promise<void> {
    for (let failed = 0; performance.now() < endMs && failed < mostFailures; ) {
      try {
        holds.push(await holdOnce())
      } catch (error) {
        if (error instanceof AcquireTimeoutError) timeouts++
        else {
          failed++
          failures.push(withoutSecrets(error instanceof Error ? error.message : String(error), settings))
        }
      }
    }
  }

  await Promise.all(Array.from({ length: callers }, caller))
  await locks.close({ grace: 0 })
  return { type: 'done', holds, timeouts, failures }
}
