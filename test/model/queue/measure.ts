import { problemsOf, worstRecoveryMs } from './invariants.ts'
import { type Setting, World } from './world.ts'

/** The results of the runs of some seeds. */
export interface Measured {
  readonly runs: number
  readonly grants: number
  /** Commands per grant: acquires, releases, and everything else that is neither a look nor a renewal. */
  readonly perGrant: number
  /** The longest recovery, in milliseconds. */
  readonly recoveryMs: number
  /** The seed of the run with the longest recovery. */
  readonly slowest: number
  /** Average time from arrival to grant over the waiters of sound processes. */
  readonly waitMs: number
  /** How often waiters lost their place and entered again. */
  readonly passedOver: number
  /** The most waiters that one request named, dropped, or gave the turn. */
  readonly work: number
  /** The first problem of each invariant, with its seed. */
  readonly problems: readonly string[]
}

const asides = /look|renew/

/** Plays the runs of all seeds. */
export async function measure(setting: Setting, seeds: readonly number[]): Promise<Measured> {
  const problems = new Map<string, string>()
  let [grants, commands, recoveryMs, slowest, passedOver, work, waitMs, waits] = [0, 0, 0, 0, 0, 0, 0, 0]
  for (const seed of seeds) {
    const world = await new World(seed, setting).run()
    grants += world.grants.length
    work = Math.max(work, world.mostWork)
    for (const [verb, count] of world.commands) if (!asides.test(verb)) commands += count
    const worstMs = worstRecoveryMs(world)
    if (worstMs > recoveryMs) [recoveryMs, slowest] = [worstMs, seed]
    for (const waiter of world.waiters) {
      if (!waiter.process.dead) passedOver += Math.max(0, waiter.entries - 1)
      if (waiter.beganMs === undefined || waiter.arrivedMs === undefined || waiter.process.faulty || waiter.plain)
        continue
      waitMs += waiter.beganMs - waiter.arrivedMs
      waits++
    }
    for (const problem of problemsOf(world)) {
      const invariant = problem.slice(0, problem.indexOf(':'))
      if (!problems.has(invariant)) problems.set(invariant, `${problem} (seed ${seed})`)
    }
  }
  return {
    runs: seeds.length,
    grants,
    perGrant: commands / Math.max(1, grants),
    recoveryMs,
    slowest,
    waitMs: waitMs / Math.max(1, waits),
    passedOver,
    work,
    problems: [...problems.values()],
  }
}
