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
  /** How long the check may take in all; default 10 s. What was not answered by then is a finding. */
  readonly deadline?: Duration | undefined
  /** How many releases are listened for, and how often a call is timed, 1 to 100; by default once, and five times. */
  readonly rounds?: number | undefined
}

/** Checks one store again and again, and remembers what its clock said. */
export interface Checker {
  /**
   * Checks the store once, as {@link check} does. From the second time on it also tells whether the store's clock was set in between.
   *
   * @throws InvalidOptionError for a bad option
   * @throws the signal's own reason when `signal` is aborted
   */
  run(options?: CheckOptions): Promise<CheckReport>
}

/**
 * Examines a store, and its notifier, for what endangers locks: a server that evicts keys, forgets them or takes no writes,
 * permissions that are missing, a client of the wrong kind or with a risky option, different prefixes.
 *
 * It takes a lock of its own, with a name that nobody else has, and gives it back. Its fence record is left, for `fenceMemory`. What is
 * missing, refused or unanswered is a finding and never an error. A notifier connects for it, and stays yours to close.
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
 * Makes a value that checks a store again and again, such as once a minute. It does no I/O until `run` is called.
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

/** What says more than another finding. */
const explains: Readonly<Record<string, string>> = { IS_SENTINEL: 'NO_SCRIPTS' }

const order: readonly Finding['severity'][] = ['error', 'warning', 'info']

/** The worst first, and each once: what a rehearsal met and what a server says of itself are often the same. */
function ordered(findings: readonly Finding[]): readonly Finding[] {
  const seen = new Map<string, Finding>()
  for (const found of findings) if (!seen.has(found.code)) seen.set(found.code, found)
  for (const [code, explained] of Object.entries(explains)) if (seen.has(code)) seen.delete(explained)
  return [...seen.values()].sort((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity))
}
