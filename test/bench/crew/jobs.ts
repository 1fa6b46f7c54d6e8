import type { Locks } from '../contestants/contestant.ts'
import { bridgeJobs } from './bridge-jobs.ts'
import { floorJobs } from './floor-jobs.ts'
import { holdingJobs } from './holding-jobs.ts'
import { loadJobs } from './load-jobs.ts'
import { lockJobs } from './lock-jobs.ts'

/** What a process of a bench can be asked to do, wherever it runs. Arguments and answers are plain data. */
export type Jobs = ReturnType<typeof jobsOf>

export const jobsOf = (locks: Locks, port: number) => ({
  ...lockJobs(locks),
  ...loadJobs(locks),
  ...holdingJobs(locks),
  ...floorJobs(port),
  ...bridgeJobs(port),
})

export const jobNames = [
  ...(['hold', 'letGo', 'wait', 'first'] as const),
  ...(['loop', 'firstLocks', 'allocations', 'hot', 'burst'] as const),
  ...(['keepAll', 'rest', 'weighHeld', 'weighWaiters', 'cpuMs'] as const),
  ...(['listen', 'announce', 'roundTrips'] as const),
  ...(['openWaiters', 'wakeUps', 'leave', 'releaseEach', 'httpRoundTrips'] as const),
] as const
