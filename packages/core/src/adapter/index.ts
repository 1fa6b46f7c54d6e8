/** `@leasehold/core/adapter`: what authors of stores, clients and notifiers need. */

export { Call, type CallDeadline } from '../timing/call-deadline.ts'
export { clockWithin, homeContext, sharesBetweenCalls } from './shared-work.ts'
