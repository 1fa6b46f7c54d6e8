import { bridgeNotifier } from '@leasehold/bridge-client'
import { type Duration, parseDuration, StoreUnavailableError } from '@leasehold/core'
import type { Finding, LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import { type CheckFacts, type CheckOptions, type CheckReport, check, type Timing } from '@leasehold/core/check'
import { pubsubNotifier, type RedisTransport, redisStore } from '@leasehold/core/redis'
import { openConnection } from '../connection/connection.ts'
import { type ConnectionSettings, shownUrl, withoutSecrets } from '../connection/settings.ts'
import type { BridgeSettings } from './bridge-settings.ts'

/** The doctor's report. `--json` prints it as it is. */
export interface Diagnosis {
  /** The address, without secrets. */
  readonly redis: string
  /** The worst first. Among findings of the same severity, those about the bridge come last. */
  readonly findings: readonly (Finding & { readonly about: 'redis' | 'bridge' })[]
  readonly facts: CheckFacts
  /** Null if no bridge was named. */
  readonly bridge: BridgeFacts | null
}

export interface BridgeFacts {
  readonly url: string
  /** The time from before a release is sent until the bridge has announced it; null if it did not. */
  readonly wakeUp: Timing | null
}

/**
 * Checks a Redis, and a bridge in front of it. An unreachable Redis is a finding, too.
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
    // The client is this program's own, not the service's.
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

/** The findings about a notifier. All others are about the server, and are found without the bridge. */
const aboutNews: ReadonlySet<string> = new Set(['NOT_LISTENING', 'NOT_HEARD', 'PREFIX_MISMATCH'])

/** The deadline covers the whole diagnosis. */
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
    // One place says what an unreachable server means: the check. It gets the reason that the client gave.
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
