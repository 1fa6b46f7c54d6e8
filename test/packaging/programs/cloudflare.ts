import {
  leaseWatchdog,
  requestScope,
  type WatchdogNamespace,
  type WatchdogStatus,
  watchdog,
} from '@leasehold/cloudflare'
import { createLocker } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'

interface Env {
  readonly WATCHDOG: WatchdogNamespace
}

const store = memoryStore()

/** What a Worker exports. */
export class LeaseWatchdog extends leaseWatchdog((_: Env) => ({ store })) {}

/** A lease that the object would renew, within the limits of a request, and what the object says about itself. */
// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  async fetch(_: Request, { WATCHDOG }: Env, context: { waitUntil(task: Promise<unknown>): void }): Promise<Response> {
    const locks = createLocker({ store, ...requestScope(context), ttl: '2m', renew: watchdog(WATCHDOG) })
    const lease = await locks.acquire('import:7')
    const object = WATCHDOG.getByName('leasehold-watchdog') as { status(): Promise<WatchdogStatus> }
    const { leases } = await object.status()
    return new Response(`${await lease.release()} ${leases}`)
  },
}
