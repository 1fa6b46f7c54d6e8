import { env } from 'cloudflare:workers'
import { leaseWatchdog, watchdog } from '@leasehold/cloudflare'
import type { Watchdog as Renewer } from '@leasehold/core'
import { store } from './locks.ts'

/** The Durable Object that renews leases for Workers that cannot. */
export class Watchdog extends leaseWatchdog(() => ({ store })) {}

/** What work that takes long gives as its option `renew`. */
export const renewedElsewhere: Renewer = watchdog(env.WATCHDOG)
