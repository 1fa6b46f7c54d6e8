/** `@leasehold/bridge/server`: release notifications over HTTP, for runtimes that cannot subscribe. */
export type { BridgeEvent, CheckReason, OnBridgeEvent } from './bridge-events.ts'
export type { BridgeAuth, BridgeLimits, BridgeMetricsPage, BridgeOptions } from './bridge-options.ts'
export { createBridge } from './create-bridge.ts'
export type { MetricsPage } from './metrics-route.ts'
export { issueTicket, type TicketOptions } from './tickets.ts'
