/** Re-entry: work that holds a lease takes the same lock again. */
export { type WithinLease, within } from './within.ts'
