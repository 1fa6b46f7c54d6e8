import type { Plan } from '../options.ts'

/** The options of one acquire of a set. Its key is that of the lock that was in the way last: events and errors name it. */
export interface SetPlan extends Plan {
  key: string
  /** At the last try, the store knew it as the elder of its locks. */
  isElder?: boolean
}
