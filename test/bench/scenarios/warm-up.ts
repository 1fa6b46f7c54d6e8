import type { Jobs } from '../crew/jobs.ts'
import { hotRun } from './hot-run.ts'

/*
 * A serving process is warm: the bench measures what it costs once its code is compiled. That takes some hundred
 * thousand locks. Until then the same code takes up to twice as long, and each collection of garbage copies what
 * compiled code would not keep.
 */

/** Compiles what a lock runs that nobody else wants. */
export const warmUpPairs = (process: Jobs): Promise<unknown> => process.loop({ inFlight: 64, forMs: 4_000 })

/** With another number in flight the code takes other branches, and some of it is compiled anew. */
export const warmUpPairsAt = (process: Jobs, inFlight: number): Promise<unknown> =>
  process.loop({ inFlight, forMs: inFlight === 1 ? 2_000 : 1_000 })

/** Compiles what a lock runs that many want. */
export const warmUpHandOffs = (processes: readonly Jobs[]): Promise<unknown> => hotRun(processes, 3_000)
