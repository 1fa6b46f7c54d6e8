import type { Clock } from '@leasehold/core'
import { backoffMs, jitter } from '@leasehold/core/adapter'
import { readJson } from './body-text.ts'
import type { BridgeAnswer, BridgeEndpoint } from './bridge-endpoint.ts'
import { bridgeRequest, discard } from './bridge-request.ts'
import { leastPauseMs, longPauseMs, mostPauseMs, refusedMs, toldAfter, wellMs } from './figures.ts'
import type { Troubles } from './troubles.ts'

/** How the bridge can be reached at the moment: what all connections of one notifier know, as plain values. */
export interface BridgeReach {
  readonly clock: Clock
  closed: boolean
  /** How many subscriptions of calls that share have a waiting request of their own. */
  polls: number
  /** Least pause after a failure, as the bridge asks for it. */
  retryMs: number
  /** What the last call of a connection met with, if it failed. */
  trouble: unknown
  /** How long nothing may be sent; not above 0 if something may. */
  pauseMs(): number
  /** Whether this key must be left out, since the bridge has forbidden it: for a minute. */
  forbids(key: string): boolean
  /**
   * Sends a GET for these keys. Answers 200 or 204; it has dealt with whatever else comes. If the bridge forbids some of the
   * keys, the others may be asked for at once.
   *
   * @param more the rest of the query, from its `&`
   */
  get(
    path: 'events' | 'wait',
    keys: readonly string[],
    signal: AbortSignal,
    more?: string,
  ): Promise<BridgeAnswer | undefined>
  /** Makes everyone pause. Answers whether it is for long, so that waiters should check by themselves. */
  failed(leastMs?: number): boolean
}

export function bridgeReach(
  endpoint: BridgeEndpoint,
  prefix: string,
  clock: Clock,
  { tell, over }: Troubles,
): BridgeReach {
  const request = bridgeRequest(endpoint, clock, (cause) => {
    tell('The token function failed', cause, 'token', 0)
    // Time was lost already: waiters check by themselves at once.
    reach.failed(longPauseMs + 1)
  })
  /** Until when each key is. It stays as long again, so that another refusal of it is no news. */
  const forbidden = new Map<string, number>()
  let notBeforeMs = -Infinity
  let failures = 0
  const reach: BridgeReach = {
    clock,
    closed: false,
    polls: 0,
    retryMs: 0,
    trouble: undefined,
    pauseMs: () => notBeforeMs - clock.monotonicMs(),
    forbids: (key) => (forbidden.get(key) ?? -Infinity) > clock.monotonicMs(),
    async get(path, keys, signal, more = '') {
      const answer = await request(pathFor(path, keys) + more, signal)
      const { status, headers } = answer
      const nowMs = clock.monotonicMs()
      for (const [key, untilMs] of forbidden) if (untilMs + refusedMs < nowMs) forbidden.delete(key)

      const theirs = headers.get('leasehold-prefix')
      if (status === 429 || status >= 500) reach.failed(Number(headers.get('retry-after')) * 1_000 || 0)
      else if (status !== 200 && status !== 204) {
        const named = await forbiddenOf(answer, keys)
        for (const key of named) forbidden.set(key, nowMs + refusedMs)
        tell(`The bridge answered ${status}`, undefined, 'refused', status)
        if (named.length === 0) reach.failed(refusedMs)
      } else if (theirs !== null && decodeURIComponent(theirs) !== prefix) {
        tell(`The bridge has the prefix ${theirs}, not ${prefix}`, undefined, 'prefix', status)
        reach.failed(refusedMs)
      } else {
        // A bridge that does not say its prefix is taken as it is.
        if (forbidden.size === 0) over()
        return answer
      }
      discard(answer)
    },
    failed(leastMs = reach.retryMs) {
      const nowMs = clock.monotonicMs()
      // Connections that were lost together have failed once.
      if (nowMs >= notBeforeMs) failures = nowMs - notBeforeMs > wellMs ? 1 : failures + 1
      const ownMs = backoffMs(leastPauseMs, mostPauseMs, failures, jitter())
      // No bridge asks for a longer one. Up to a quarter more, so that not all come back together.
      const askedMs = Math.min(leastMs, refusedMs) * (1 + jitter() / 4)
      notBeforeMs = Math.max(notBeforeMs, nowMs + ownMs, nowMs + askedMs)
      if (failures >= toldAfter) tell('The bridge is unavailable', reach.trouble)
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

/** The path that asks for these keys, without what is particular to a way of asking. */
export const pathFor = (path: string, keys: readonly string[]): string =>
  `/v1/${path}?key=${keys.map(encodeURIComponent).join('&key=')}`
