import { env } from 'cloudflare:workers'
import { leaseWatchdog, watchdog } from '@leasehold/cloudflare'
import type { Watchdog as Renewer } from '@leasehold/core'
import { store } from './locks.ts'

/** The Durable Object that renews leases for Workers that cannot. */
export class Watchdog extends leaseWatchdog(() => ({ store })) {}

/** The option `renew` for long work. */
export const renewedElsewhere: Renewer = watchdog(env.WATCHDOG)
