/** Re-entry: work that holds a lease takes the same lock once more. */
export { type WithinLease, within } from './within.ts'
