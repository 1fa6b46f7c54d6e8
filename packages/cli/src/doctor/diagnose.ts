import { bridgeNotifier } from '@leasehold/bridge-client'
import { type Duration, parseDuration, StoreUnavailableError } from '@leasehold/core'
import type { Finding, LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import { type CheckFacts, type CheckOptions, type CheckReport, check, type Timing } from '@leasehold/core/check'
import { pubsubNotifier, type RedisTransport, redisStore } from '@leasehold/core/redis'
import { openConnection } from '../connection/connection.ts'
import { type ConnectionSettings, shownUrl, withoutSecrets } from '../connection/settings.ts'
import type { BridgeSettings } from './bridge-settings.ts'

/** What the doctor says. `--json` prints it as it is. */
export interface Diagnosis {
  /** The address, without secrets. */
  readonly redis: string
  /** The worst first. Those of the bridge are last, among those of the same severity. */
  readonly findings: readonly (Finding & { readonly about: 'redis' | 'bridge' })[]
  readonly facts: CheckFacts
  /** Null if none was named. */
  readonly bridge: BridgeFacts | null
}

export interface BridgeFacts {
  readonly url: string
  /** From before a release is sent until the bridge has told of it; null if it did not. */
  readonly wakeUp: Timing | null
}

/**
 * Checks a Redis, and a bridge in front of it. That Redis cannot be reached is a finding, too.
 *
 * @throws the signal's reason when it is aborted
 */
export async function diagnose(
  settings: ConnectionSettings,
  bridge: BridgeSettings | undefined,
  options: DiagnosisOptions,
): Promise<Diagnosis> {
  const { report, ofBridge } = await reports(settings, bridge, options)
  const hidden = (text: string): string => {
    const shown = withoutSecrets(text, settings)
    return bridge ? shown.replaceAll(bridge.token, '***') : shown
  }
  const shown = (about: 'redis' | 'bridge', { findings }: CheckReport): Diagnosis['findings'] =>
    findings.map((found) => ({ about, ...found, message: hidden(found.message) }))
  const findings = [
    // The client is this program's own, and not that of the service.
    ...shown('redis', report).filter(({ code }) => !code.startsWith('CLIENT_')),
    ...(ofBridge ? shown('bridge', ofBridge).filter(({ code }) => aboutNews.has(code)) : []),
  ]
  return {
    redis: shownUrl(settings),
    findings: findings.sort((one, other) => rank[one.severity] - rank[other.severity]),
    facts: report.facts,
    bridge: bridge ? { url: shownUrl(bridge), wakeUp: ofBridge?.facts.wakeUp ?? null } : null,
  }
}

const rank = { error: 0, warning: 1, info: 2 } as const

/** What a check finds about a notifier. All else is the server's, and is found without the bridge. */
const aboutNews: ReadonlySet<string> = new Set(['NOT_LISTENING', 'NOT_HEARD', 'PREFIX_MISMATCH'])

/** The deadline is for all of it. */
type DiagnosisOptions = CheckOptions & { readonly deadline: Duration }

interface Reports {
  readonly report: CheckReport
  readonly ofBridge?: CheckReport
}

async function reports(
  settings: ConnectionSettings,
  bridge: BridgeSettings | undefined,
  options: DiagnosisOptions,
): Promise<Reports> {
  const { prefix } = settings
  const { signal = new AbortController().signal, deadline } = options
  const withinMs = parseDuration('deadline', deadline)
  // Connecting and both checks share one time.
  const untilMs = performance.now() + withinMs
  const rest = (): CheckOptions => ({ ...options, deadline: Math.max(1, untilMs - performance.now()) })
  try {
    await using connection = await openConnection(settings, signal, { withinMs })
    const { store, subscriber } = connection
    const report = await closing(store, subscriber && pubsubNotifier(subscriber, { prefix }), rest())
    if (!bridge || !report.facts.reached) return { report }
    return { report, ofBridge: await closing(store, bridgeNotifier({ ...bridge, prefix }), rest()) }
  } catch (error: unknown) {
    if (!(error instanceof StoreUnavailableError)) throw error
    // What an unreachable server means stands in one place: the check is told what the client was.
    return { report: await check({ store: redisStore(unconnected(error), { prefix }) }, options) }
  }
}

async function closing(
  store: LeaseStore,
  notifier: ReleaseNotifier | undefined,
  options: CheckOptions,
): Promise<CheckReport> {
  try {
    return await check({ store, notifier }, options)
  } finally {
    await notifier?.close()
  }
}

/** A transport without a connection, and why there is none. */
const unconnected = ({ cause }: StoreUnavailableError): RedisTransport => ({
  commandDeadlineMs: 1_000,
  cluster: false,
  countsSubscribers: false,
  nodeOf: () => '',
  whenReady: () => undefined,
  run: async (calls) => calls.map(() => ({ type: 'unknown', executed: 'no', cause })),
})
