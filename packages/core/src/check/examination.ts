import { type Finding, offeredFindings } from '../store/finding.ts'
import { drawAcquisitionId } from '../store/token.ts'
import type { Budget } from './budget.ts'
import { finding } from './catalogue.ts'
import type { ClockReading } from './clock-step.ts'
import { checkRedis } from './redis-check.ts'
import { rehearse } from './rehearsal.ts'
import type { CheckReport, CheckTarget } from './report.ts'
import { redisBehind } from './survey.ts'
import { timeCalls, timing } from './timing.ts'

/** A script that takes more than this fraction of the store's command deadline leaves little of a short ttl. */
const slowPart = 1 / 4

/** The result of one examination: findings in no order, some of them twice, and the readings of the nodes' clocks. */
export interface Examination extends CheckReport {
  readonly clocks: ReadonlyMap<string, ClockReading>
}

/** Examines everything once. What is not answered in time is left out, and a finding says so. */
export async function examine(target: CheckTarget, rounds: number | undefined, budget: Budget): Promise<Examination> {
  const { store, notifier } = target
  const key = `leasehold-check:${drawAcquisitionId()}`
  const behind = redisBehind(store)
  const { findings, newsMs, reached, announces } = await rehearse(target, key, rounds, budget)
  // Some clients show the options of a connection only once there is one.
  const offered = await Promise.all([store, notifier, behind?.transport].map((each) => offeredBy(each, budget)))
  // A server that is loading, or busy with a script, would answer none of this in time.
  const answers = reached && !findings.some(({ code }) => code === 'NOT_READY')
  const redis = behind && answers ? await checkRedis(behind, store, key, budget) : undefined
  const times = answers ? await timeCalls(store, behind, key, rounds, budget) : undefined
  const { ping = null, script = null } = times ?? {}
  const found = [
    ...apart(target),
    ...(redis?.findings ?? []),
    ...findings,
    ...(times?.findings ?? []),
    ...offered.flat(),
  ]
  if (!announces && !found.some(isAboutNews)) found.push(unannounced(store.prefix))
  if (script && script.medianMs > slowPart * store.commandDeadlineMs) {
    found.push(finding('SLOW', `A script took ${script.medianMs} ms, there and back`))
  }
  if (reached && budget.isSpent) found.push(unfinished())
  return {
    findings: found,
    facts: {
      reached,
      prefix: store.prefix ?? null,
      nodes: redis?.nodes ?? [],
      ping,
      script,
      wakeUp: timing(newsMs),
    },
    clocks: redis?.readings ?? new Map(),
  }
}

async function offeredBy(subject: object | undefined, budget: Budget): Promise<readonly Finding[]> {
  const offered = (subject && offeredFindings(subject)) ?? []
  return 'then' in offered ? ((await budget.ask(Infinity, () => offered)) ?? []) : offered
}

/** Reports different prefixes, which `createLocker` also refuses. */
function apart({ store, notifier }: CheckTarget): readonly Finding[] {
  if (store.prefix === undefined || notifier?.prefix === undefined || store.prefix === notifier.prefix) return []
  const message = `The store has the prefix "${store.prefix}", and the notifier "${notifier.prefix}"`
  return [finding('PREFIX_MISMATCH', message)]
}

const isAboutNews = ({ code }: Finding): boolean => code === 'PUBLISH_FORBIDDEN' || code === 'CHANNELS_FORBIDDEN'

const unannounced = (prefix: string | undefined): Finding =>
  finding('PUBLISH_FORBIDDEN', 'The store may not announce releases, so waiters elsewhere check by themselves', prefix)

const unfinished = (): Finding => finding('UNFINISHED', 'The time of the check was over before it had seen everything')
