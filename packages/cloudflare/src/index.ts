/** `@leasehold/cloudflare`: leases that a Durable Object renews, and the limits of a Worker's request. */
export { type LeaseWatchdogClass, type LeaseWatchdogObject, leaseWatchdog } from './lease-watchdog.ts'
export { type RequestContext, type RequestScope, type RequestScopeOptions, requestScope } from './request-scope.ts'
export { shards } from './shards.ts'
export type { WatchdogStatus } from './status.ts'
export { type WatchdogNamespace, type WatchdogOptions, watchdog } from './watchdog.ts'
export type { WatchdogSettings } from './watchdog-settings.ts'
