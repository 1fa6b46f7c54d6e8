/** `@leasehold/bridge/server`: release notifications over HTTP, for runtimes that cannot subscribe. */
export type { BridgeEvent, LookReason, OnBridgeEvent } from './bridge-events.ts'
export type { BridgeAuth, BridgeLimits, BridgeOptions } from './bridge-options.ts'
export { createBridge } from './create-bridge.ts'
export { issueTicket, type TicketOptions } from './tickets.ts'
