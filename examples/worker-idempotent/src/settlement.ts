import { env } from 'cloudflare:workers'
import { fenceHeader } from '@leasehold/core/fencing'
import { locks } from './locks.ts'
import { renewedElsewhere } from './watchdog.ts'

/**
 * Settles a day's payments once, however many Workers the trigger starts. A Worker that does not get the lock has
 * nothing to do.
 *
 * This may take minutes. The watchdog renews the lease, and lets it go when this Worker is gone.
 */
export async function settle(day: string): Promise<void> {
  await using turn = await locks.tryAcquire('cron:settlement', { ttl: '2m', renew: renewedElsewhere, maxHold: '15m' })
  if (!turn) return
  const headers = { [fenceHeader]: String(turn.fence) }
  const response = await fetch(`${env.PAYMENTS_URL}/settlements/${day}`, {
    method: 'PUT',
    headers,
    signal: turn.signal,
  })
  if (!response.ok) throw new Error(`The day was not settled: ${response.status}`)
}
