import type { Clock } from '@leasehold/core'
import { backoffMs, jitter } from '@leasehold/core/adapter'
import { readJson } from './body-text.ts'
import type { BridgeAnswer, BridgeEndpoint } from './bridge-endpoint.ts'
import { bridgeRequest, discard } from './bridge-request.ts'
import { leastPauseMs, longPauseMs, mostPauseMs, refusedMs, toldAfter, wellMs } from './figures.ts'
import type { Troubles } from './troubles.ts'

/** What all connections of one notifier share: whether the bridge can be reached, and how. */
export interface BridgeReach {
  readonly clock: Clock
  closed: boolean
  /** How many of the subscriptions that calls share have an open poll. */
  polls: number
  /** The inboxes that calls share, each with the listener for its turns. */
  readonly inboxes: Map<string, (message: string) => void>
  /** Whether the bridge keeps the places of waiters in queues, as it last reported. */
  keepsPlaces: boolean | undefined
  /** The shortest pause after a failure, in milliseconds, as requested by the bridge. */
  retryMs: number
  /** The error of the last call, if it failed. */
  trouble: unknown
  /** How long nothing may be sent, in milliseconds; 0 or less if sending is allowed. */
  pauseMs(): number
  /** Whether the bridge has forbidden this key within the last minute, so that it must be left out. */
  forbids(key: string): boolean
  /**
   * Sends a GET for these keys. Resolves with a 200 or 204; it handles any other answer itself. If the bridge forbids
   * some of the keys, the others may be asked for at once.
   *
   * @param more the rest of the query, from its `&`
   */
  get(
    path: 'events' | 'wait',
    keys: readonly string[],
    signal: AbortSignal,
    more?: string,
  ): Promise<BridgeAnswer | undefined>
  /**
   * Makes all connections pause. Returns whether the failure is serious enough that waiters should check on their own.
   */
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
    // Time has already been lost, so waiters check on their own at once.
    reach.failed(longPauseMs + 1)
  })
  /**
   * When each forbidden key may be asked for again. An entry stays for as long again, so that another refusal of the
   * key is not news.
   */
  const forbidden = new Map<string, number>()
  let notBeforeMs = -Infinity
  let failures = 0
  const reach: BridgeReach = {
    clock,
    closed: false,
    polls: 0,
    inboxes: new Map(),
    keepsPlaces: undefined,
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
        // A bridge that does not send its prefix is trusted.
        if (forbidden.size === 0) over()
        return answer
      }
      discard(answer)
    },
    failed(leastMs = reach.retryMs) {
      const nowMs = clock.monotonicMs()
      // Connections that are lost together count as one failure.
      if (nowMs >= notBeforeMs) failures = nowMs - notBeforeMs > wellMs ? 1 : failures + 1
      const ownMs = backoffMs(leastPauseMs, mostPauseMs, failures, jitter())
      // No bridge asks for a longer pause. Adds up to a quarter, so that clients do not all come back together.
      const askedMs = Math.min(leastMs, refusedMs) * (1 + jitter() / 4)
      notBeforeMs = Math.max(notBeforeMs, nowMs + ownMs, nowMs + askedMs)
      if (failures >= toldAfter) tell('The bridge is unavailable', reach.trouble)
      return failures > 1 || notBeforeMs - nowMs > longPauseMs
    },
  }
  return reach
}

/** The requested keys that a refusal names. */
const forbiddenOf = (answer: BridgeAnswer, keys: readonly string[]): Promise<readonly string[]> =>
  readJson(answer)
    .then((problem) => keys.filter((key) => (problem as { readonly keys: readonly unknown[] }).keys.includes(key)))
    .catch(() => [])

/** The path and query for these keys, without the parameters of a poll. */
export const pathFor = (path: string, keys: readonly string[]): string =>
  `/v1/${path}?key=${keys.map(encodeURIComponent).join('&key=')}`
