import type { Plan } from '../options.ts'

/**
 * The options of one acquire of a set. Its key is that of the lock that was last in the way: events and errors name it.
 */
export interface SetPlan extends Plan {
  key: string
  /** Whether the store knew the set as the elder of its locks at the last try. */
  isElder?: boolean
}
