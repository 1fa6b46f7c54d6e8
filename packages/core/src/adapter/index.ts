/** `@leasehold/core/adapter`: what authors of stores, clients and notifiers need. */

export { demandOption } from '../errors.ts'
export { jitter } from '../timing/backoff.ts'
export { Call, type CallDeadline } from '../timing/call-deadline.ts'
export { SignalCount } from '../waiting/signal-count.ts'
export { clockWithin, homeContext, sharesBetweenCalls } from './shared-work.ts'
