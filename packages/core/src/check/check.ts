import { demandObject, demandOption, refuseUnknown } from '../errors.ts'
import type { Finding } from '../store/finding.ts'
import { type Clock, systemClock } from '../timing/clock.ts'
import { type Duration, parseDuration } from '../timing/duration.ts'
import { Budget } from './budget.ts'
import { type ClockReading, clockFindings } from './clock-step.ts'
import { examine } from './examination.ts'
import type { CheckReport, CheckTarget } from './report.ts'
import { mostRounds } from './timing.ts'

export interface CheckOptions {
  /** Ends the check: it rejects with the signal's own reason. */
  readonly signal?: AbortSignal | undefined
  /** How long the whole check may take; default 10 s. What is unanswered by then is a finding. */
  readonly deadline?: Duration | undefined
  /** How many releases to listen for, and how often to time a call, from 1 to 100; by default once, and five times. */
  readonly rounds?: number | undefined
}

/** Checks one store repeatedly, and remembers the readings of its clock. */
export interface Checker {
  /**
   * Checks the store once, as {@link check} does. From the second run on, it also reports whether the store's clock was
   * set between runs.
   *
   * @throws InvalidOptionError for a bad option
   * @throws the signal's own reason when `signal` is aborted
   */
  run(options?: CheckOptions): Promise<CheckReport>
}

/**
 * Examines a store and its notifier for anything that endangers locks: a server that evicts keys, forgets them or takes
 * no writes, missing permissions, a client of the wrong kind or with a risky option, different prefixes.
 *
 * It acquires a lock of its own, with a name that nobody else has, and gives it back. The lock's fence record remains
 * for `fenceMemory`. Anything missing, refused or unanswered is a finding and never an error. The check makes the
 * notifier connect, and leaves it to you to close.
 *
 * @example
 * ```ts
 * const { findings } = await check(ioredisBackend(redis))
 * for (const { severity, message, remedy } of findings) console.warn(severity, message, remedy)
 * ```
 *
 * @throws InvalidOptionError for a target without a store, or a bad option
 * @throws the signal's own reason when `signal` is aborted
 */
export const check = (target: CheckTarget, options?: CheckOptions): Promise<CheckReport> => checker(target).run(options)

/**
 * Makes a checker for checking a store repeatedly, such as once a minute. It does no I/O until `run` is called.
 *
 * @example
 * ```ts
 * const checkUp = checker(backend)
 * const { findings } = await checkUp.run({ deadline: '5s' })
 * ```
 *
 * @param clock where time comes from; default: the runtime's clock
 * @throws InvalidOptionError for a target without a store
 */
export function checker(target: CheckTarget, clock: Clock = systemClock): Checker {
  demandOption(typeof target?.store?.acquire === 'function', 'target', 'what createLocker takes: { store, notifier }')
  let readings: ReadonlyMap<string, ClockReading> = new Map()
  return {
    async run(options = {}) {
      const { signal, budget, rounds } = settings(options, clock)
      signal?.throwIfAborted()
      const { findings, facts, clocks } = await examine(target, rounds, budget)
      const steps = Array.from(clocks, ([name, last]) => clockFindings(readings.get(name), last))
      readings = new Map([...readings, ...clocks])
      return { findings: ordered([...findings, ...steps.flat()]), facts }
    },
  }
}

function settings(
  options: CheckOptions,
  clock: Clock,
): { readonly signal: AbortSignal | undefined; readonly budget: Budget; readonly rounds: number | undefined } {
  demandObject(options)
  const { signal, deadline = '10s', rounds, ...rest } = options
  refuseUnknown(rest)
  const fits = (given: number): boolean => Number.isInteger(given) && given >= 1 && given <= mostRounds
  demandOption(rounds === undefined || fits(rounds), 'rounds', `a whole number from 1 to ${mostRounds}`, rounds)
  return { signal, rounds, budget: new Budget(clock, parseDuration('deadline', deadline), signal) }
}

/** Findings that say more than another, which is then left out. */
const explains: Readonly<Record<string, string>> = { IS_SENTINEL: 'NO_SCRIPTS' }

const order: readonly Finding['severity'][] = ['error', 'warning', 'info']

/** Sorts findings, the worst first, and keeps each once: a rehearsal and a server's own report often find the same. */
function ordered(findings: readonly Finding[]): readonly Finding[] {
  const seen = new Map<string, Finding>()
  for (const found of findings) if (!seen.has(found.code)) seen.set(found.code, found)
  for (const [code, explained] of Object.entries(explains)) if (seen.has(code)) seen.delete(explained)
  return [...seen.values()].sort((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity))
}
