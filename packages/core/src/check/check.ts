import { demandObject, demandOption, refuseUnknown } from '../errors.ts'
import { type Finding, offeredFindings } from '../store/finding.ts'
import { drawAcquisitionId } from '../store/token.ts'
import { type Clock, systemClock } from '../timing/clock.ts'
import { type Duration, parseDuration } from '../timing/duration.ts'
import { Budget } from './budget.ts'
import { finding } from './catalogue.ts'
import { type ClockReading, clockFindings } from './clock-step.ts'
import { checkRedis, type NodeFacts, type RedisCheck } from './redis-check.ts'
import { rehearse, type Stage } from './rehearsal.ts'
import { plainAnswer, type RedisBehind, redisBehind } from './survey.ts'
import { type Timing, timing } from './timing.ts'

/** What is checked: the store of a locker, and its notifier if it has one. The options of `createLocker` fit. */
export type CheckTarget = Stage

export interface CheckOptions {
  /** Ends the check: it rejects with the signal's own reason. */
  readonly signal?: AbortSignal | undefined
  /** How long the check may take in all; default 10 s. What was not answered by then is a finding. */
  readonly deadline?: Duration | undefined
  /** How many releases are listened for, 1 to 100; default 1. */
  readonly rounds?: number | undefined
}

export interface CheckReport {
  /** What was found, the worst first. Empty if there is nothing to say. */
  readonly findings: readonly Finding[]
  readonly facts: CheckFacts
}

/** What was learned of a store that is neither good nor bad. */
export interface CheckFacts {
  /** Whether the store answered. */
  readonly reached: boolean
  /** Null for a store that has none. */
  readonly prefix: string | null
  /** The servers behind it: one, or the nodes of a cluster. None for a store that has no servers. */
  readonly nodes: readonly NodeFacts[]
  /** The round trip of a command that does nothing. Null where only scripts are sent, as over HTTP. */
  readonly ping: Timing | null
  /** The round trip of a script that reads one lock. */
  readonly script: Timing | null
  /** From before a release is sent until the notifier has heard of it. Null without a notifier, or if it heard nothing. */
  readonly wakeUp: Timing | null
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

/** How often each round trip is timed at least. */
const leastTimed = 5
const mostRounds = 100
/** A script that takes so large a part of the store's command deadline leaves little of a short ttl. */
const slowPart = 1 / 4

/**
 * Looks at a store, and at its notifier, for what endangers locks: a server that evicts keys, forgets them or takes no writes,
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
      const { redis, report } = await look(target, rounds, budget)
      const steps = Array.from(redis?.readings ?? [], ([name, last]) => clockFindings(readings.get(name), last))
      readings = new Map([...readings, ...(redis?.readings ?? [])])
      return { ...report, findings: ordered([...report.findings, ...steps.flat()]) }
    },
  }
}

function settings(
  options: CheckOptions,
  clock: Clock,
): { readonly signal: AbortSignal | undefined; readonly budget: Budget; readonly rounds: number } {
  demandObject(options)
  const { signal, deadline = '10s', rounds = 1, ...rest } = options
  refuseUnknown(rest)
  const fits = Number.isInteger(rounds) && rounds >= 1 && rounds <= mostRounds
  demandOption(fits, 'rounds', `a whole number from 1 to ${mostRounds}`, rounds)
  return { signal, rounds, budget: new Budget(clock, parseDuration('deadline', deadline), signal) }
}

async function look(
  target: CheckTarget,
  rounds: number,
  budget: Budget,
): Promise<{ readonly redis: RedisCheck | undefined; readonly report: CheckReport }> {
  const { store, notifier } = target
  const key = `leasehold-check:${drawAcquisitionId()}`
  const behind = redisBehind(store)
  const offered = [store, notifier, behind?.transport].flatMap((each) => (each && offeredFindings(each)) ?? [])
  const { findings, newsMs, reached, announces } = await rehearse(target, key, rounds, budget)
  const redis = behind && reached ? await checkRedis(behind, store, key, budget) : undefined
  const times = reached ? await timed(target, behind, key, Math.max(rounds, leastTimed), budget) : nothingTimed
  const slow = times.script && times.script.medianMs > slowPart * store.commandDeadlineMs
  return {
    redis,
    report: {
      findings: [
        ...apart(target),
        ...(redis?.findings ?? []),
        ...findings,
        ...(announces || redis?.findings.some(isAboutNews) ? [] : [unannounced(store.prefix)]),
        ...offered,
        ...(slow ? [finding('SLOW', `A script took ${times.script?.medianMs} ms, there and back`)] : []),
      ],
      facts: {
        reached,
        prefix: store.prefix ?? null,
        nodes: redis?.nodes ?? [],
        ...times,
        wakeUp: timing(newsMs),
      },
    },
  }
}

const isAboutNews = ({ code }: Finding): boolean => code === 'PUBLISH_FORBIDDEN' || code === 'CHANNELS_FORBIDDEN'

const unannounced = (prefix: string | undefined): Finding =>
  finding('PUBLISH_FORBIDDEN', 'The store may not announce releases, so waiters elsewhere check by themselves', prefix)

/** `createLocker` refuses them, too. */
function apart({ store, notifier }: CheckTarget): readonly Finding[] {
  if (store.prefix === undefined || notifier?.prefix === undefined || store.prefix === notifier.prefix) return []
  const message = `The store has the prefix "${store.prefix}", and the notifier "${notifier.prefix}"`
  return [finding('PREFIX_MISMATCH', message)]
}

type Times = Pick<CheckFacts, 'ping' | 'script'>
const nothingTimed: Times = { ping: null, script: null }

async function timed(
  { store }: CheckTarget,
  behind: RedisBehind | undefined,
  key: string,
  rounds: number,
  budget: Budget,
): Promise<Times> {
  const script = await timedCalls(rounds, budget, async () => {
    const outcomes = await budget.ask(store.commandDeadlineMs, (call) =>
      store.checkHolders([{ key, cursor: '-' }], call),
    )
    return outcomes?.[0]?.type === 'checked'
  })
  const ping = behind?.plain
    ? await timedCalls(rounds, budget, async () => (await plainAnswer(behind, ['PING'], budget)) !== undefined)
    : null
  return { ping, script }
}

/** Times calls one after the other, and gives up with the first that fails. */
async function timedCalls(rounds: number, { clock }: Budget, call: () => Promise<boolean>): Promise<Timing | null> {
  const tookMs: number[] = []
  while (tookMs.length < rounds) {
    const fromMs = clock.monotonicMs()
    if (!(await call())) break
    tookMs.push(clock.monotonicMs() - fromMs)
  }
  return timing(tookMs)
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
