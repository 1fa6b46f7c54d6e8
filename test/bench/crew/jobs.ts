import type { Locks } from '../contestants/contestant.ts'
import { bridgeJobs } from './bridge-jobs.ts'
import { floorJobs } from './floor-jobs.ts'
import { lockJobs } from './lock-jobs.ts'

/** What one process of a bench can be asked to do, wherever it is. Arguments and answers are plain data. */
export type Jobs = ReturnType<typeof jobsOf>

export const jobsOf = (locks: Locks, port: number) => ({ ...lockJobs(locks), ...floorJobs(port), ...bridgeJobs(port) })

export const jobNames = [
  ...(['hold', 'letGo', 'wait', 'first', 'loop'] as const),
  ...(['listen', 'announce', 'roundTrips'] as const),
  ...(['openWaiters', 'wakeUps', 'leave', 'releaseEach', 'httpRoundTrips'] as const),
] as const
