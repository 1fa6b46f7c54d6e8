import { LockQueue } from '../../../packages/core/src/memory/queue/lock-queue.ts'
import { scenarios } from './scenarios.ts'
import type { Trace } from './trace.ts'
import { World } from './world.ts'

/** Plays one run with the rules as they are published, and answers what the store was asked, and what it answered. */
export async function recordedRun(scenario: string, seed: number): Promise<Trace> {
  const { setting } = scenarios[scenario] ?? {}
  if (!setting) throw new RangeError(`There is no scenario "${scenario}"`)
  const world = await new World(seed, { ...setting, rules: LockQueue }).run()
  return world.trace
}
