import { randomUUID } from 'node:crypto'
import type { Jobs } from '../crew/jobs.ts'
import type { HotRun } from '../crew/load-jobs.ts'
import { nowMs } from '../measure/clock.ts'

/** How many loops want a hot key; they are spread evenly over the processes. */
export const hotLoops = 32
/** By then each process has its order. */
const headStartMs = 50

/** All loops contend for one new key, and release it at once. */
export function hotRun(processes: readonly Jobs[], forMs: number): Promise<readonly HotRun[]> {
  const order = {
    key: `hot-${randomUUID()}`,
    loops: hotLoops / processes.length,
    startAt: nowMs() + headStartMs,
    forMs,
  }
  return Promise.all(processes.map((process) => process.hot(order)))
}
