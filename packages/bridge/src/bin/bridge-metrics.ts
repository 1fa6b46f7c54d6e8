import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { BridgeEvent } from '../server/index.ts'

export interface BridgeMetrics {
  count(event: BridgeEvent): void
  /** The page for Prometheus. */
  page(): Promise<{ readonly contentType: string; readonly text: string }>
}

/**
 * Metrics to leave out: they list every connection, take longer than all others, and say no more than `waits` and
 * `streams`.
 */
const costly = ['handles', 'requests', 'resources'].flatMap((of) => [
  `nodejs_active_${of}`,
  `nodejs_active_${of}_total`,
])

/** The metrics of a bridge and of its process, for Prometheus. */
export function bridgeMetrics(): BridgeMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of costly) registry.removeSingleMetric(name)
  const registers = [registry]
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name: `leasehold_bridge_${name}`, help, labelNames, registers })
  const gauge = (name: string, help: string) => new Gauge({ name: `leasehold_bridge_${name}`, help, registers })

  const calls = counter('store_calls_total', 'Script calls that read locks, each of many keys')
  const checks = counter('checks_total', 'Checks of one lock each, by what made them necessary', 'reason')
  const unanswered = counter('checks_unanswered_total', 'Checks that Redis did not answer, or refused')
  const badKeys = counter('bad_keys_total', 'Checks of keys that no lock can have; Redis was not asked')
  const looks = counter('looks_total', 'Looks for waiters in queues, one each')
  const lookCalls = counter('look_calls_total', 'Script calls that look for waiters in queues, each for many')
  const unansweredLooks = counter(
    'look_calls_unanswered_total',
    'The same that Redis did not answer for all, or refused',
  )
  const turns = counter('turns_seen_total', 'Turns of waiters in queues that came in from Redis')
  const releases = counter('releases_seen_total', 'Release notifications that came in from Redis')
  const wakeUps = counter('wake_ups_total', 'Long polls that were told to try again')
  const refused = counter('refused_total', 'Requests that were not served, by status', 'status')
  const failures = counter('subscription_failures_total', 'Attempts to listen that failed, losses included')
  const losses = counter('subscription_losses_total', 'How often the connection that listens was lost')
  const waits = gauge('waits', 'Long polls that are open')
  const streams = gauge('streams', 'Event streams that are open')
  const subscribed = gauge('subscribed', '1 while releases are being heard, else 0')
  let isListening = false

  return {
    count(event) {
      switch (event.type) {
        case 'check':
          if (event.outcome === 'bad-key') return badKeys.inc()
          checks.inc({ reason: event.reason })
          if (event.outcome === 'unanswered') unanswered.inc()
          return
        case 'store-asked':
          return calls.inc()
        case 'places-asked':
          lookCalls.inc()
          looks.inc(event.waiters)
          if (event.problem) unansweredLooks.inc()
          return
        case 'turn-seen':
          return turns.inc()
        case 'listening':
          isListening = true
          return subscribed.set(1)
        case 'disconnected':
          failures.inc()
          if (isListening) losses.inc()
          isListening = false
          return subscribed.set(0)
        case 'release-seen':
          return releases.inc()
        case 'wake-up':
          return wakeUps.inc()
        case 'waits':
          return waits.set(event.open)
        case 'streams':
          return streams.set(event.open)
        case 'refused':
          return refused.inc({ status: String(event.status) })
        case 'failed':
          return
      }
    },
    page: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  }
}
