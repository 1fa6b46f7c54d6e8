import { backoff, type Clock } from '@leasehold/core'
import { readJson } from './body-text.ts'
import type { BridgeAnswer, BridgeEndpoint } from './bridge-endpoint.ts'
import { bridgeRequest, discard } from './bridge-request.ts'
import { longPauseMs, refusedMs, toldAfter, wellMs } from './figures.ts'
import type { Troubles } from './troubles.ts'

/** Between attempts, doubling, with jitter. */
const strategy = backoff({ from: 100, to: 5_000 })

/** How the bridge can be reached at the moment: what all connections of one notifier know, as plain values. */
export interface BridgeReach {
  readonly clock: Clock
  closed: boolean
  /** How many subscriptions of calls that share have a waiting request of their own. */
  polls: number
  /** Least pause after a failure, as the bridge asks for it. */
  retryMs: number
  /** How long nothing may be sent; not above 0 if something may. */
  pauseMs(): number
  /** Whether this key must be left out, since the bridge has forbidden it: for a minute. */
  forbids(key: string): boolean
  /**
   * Sends a GET for these keys. Answers 200 or 204; whatever else comes has been taken into account. If that is that some of
   * the keys are forbidden, the others may be asked for at once.
   */
  get(path: string, keys: readonly string[], signal: AbortSignal): Promise<BridgeAnswer | undefined>
  /** Makes everyone pause. Answers whether it is for long, so that waiters should check by themselves. */
  failed(leastMs?: number): boolean
}

export function bridgeReach(
  endpoint: BridgeEndpoint,
  prefix: string,
  clock: Clock,
  { tell, silent, over }: Troubles,
): BridgeReach {
  const request = bridgeRequest(endpoint, clock, (cause) => {
    // Time was lost already: who waits checks by themselves at once.
    reach.failed(longPauseMs + 1)
    tell('token', 0, 'The token function failed', cause)
  })
  /** Until when each key is. It stays here as long again, so that to be forbidden anew is no news. */
  const forbidden = new Map<string, number>()
  let notBeforeMs = -Infinity
  let failures = 0
  const reach: BridgeReach = {
    clock,
    closed: false,
    polls: 0,
    retryMs: 0,
    pauseMs: () => notBeforeMs - clock.monotonicMs(),
    forbids: (key) => (forbidden.get(key) ?? -Infinity) > clock.monotonicMs(),
    async get(path, keys, signal) {
      const answer = await request(path, signal)
      const { status, headers } = answer
      const nowMs = clock.monotonicMs()
      for (const [key, untilMs] of forbidden) if (untilMs + refusedMs < nowMs) forbidden.delete(key)

      if (status === 429 || status >= 500) reach.failed(Number(headers.get('retry-after')) * 1_000 || 0)
      else if (status === 200 || status === 204) {
        const theirs = headers.get('leasehold-prefix')
        // A bridge that does not say it is taken as it is.
        if (theirs === null || decodeURIComponent(theirs) === prefix) {
          if (forbidden.size === 0) over()
          return answer
        }
        reach.failed(refusedMs)
        tell('prefix', status, `The bridge has the prefix ${theirs}, not ${prefix}`)
      } else {
        const theirs = await forbiddenOf(answer, keys)
        for (const key of theirs) forbidden.set(key, nowMs + refusedMs)
        if (theirs.length === 0) reach.failed(refusedMs)
        tell('refused', status, `The bridge answered ${status}`)
      }
      discard(answer)
    },
    failed(leastMs) {
      const nowMs = clock.monotonicMs()
      // Connections that were lost together have failed once.
      if (nowMs >= notBeforeMs) failures = nowMs - notBeforeMs > wellMs ? 1 : failures + 1
      const ownMs = strategy.delayMs(failures, Math.random())
      // No bridge asks for a longer one. Up to a quarter more, so that not all come back together.
      const askedMs = Math.min(leastMs ?? reach.retryMs, refusedMs) * (1 + Math.random() / 4)
      notBeforeMs = Math.max(notBeforeMs, nowMs + ownMs, nowMs + askedMs)
      // Not of an answer that asks for a pause, as that is told by its own cause.
      if (leastMs === undefined && failures >= toldAfter) silent()
      return failures > 1 || notBeforeMs - nowMs > longPauseMs
    },
  }
  return reach
}

/** Those of the keys that a refusal names. */
const forbiddenOf = (answer: BridgeAnswer, keys: readonly string[]): Promise<readonly string[]> =>
  readJson(answer)
    .then((problem) => keys.filter((key) => (problem as { readonly keys: readonly unknown[] }).keys.includes(key)))
    .catch(() => [])
