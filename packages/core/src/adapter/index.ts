/** `@leasehold/core/adapter`: what authors of stores, clients and notifiers need. */
export { clockWithin, homeContext, sharesBetweenCalls } from './shared-work.ts'
