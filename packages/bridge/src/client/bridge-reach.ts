import { backoff, type Clock } from '@leasehold/core'
import type { BridgeAnswer, BridgeEndpoint } from './bridge-endpoint.ts'
import { longPauseMs, refusedMs, wellMs } from './figures.ts'

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
  /** Sends a GET. Answers 200 or 204; whatever else comes is an error, and has been taken into account. */
  get(path: string, signal: AbortSignal): Promise<BridgeAnswer>
  /** Makes everyone pause. Answers whether it is for long, so that waiters should check by themselves. */
  failed(leastMs?: number): boolean
}

export function bridgeReach({ url, token, fetch: given, onError }: BridgeEndpoint, clock: Clock): BridgeReach {
  let notBeforeMs = -Infinity
  let failures = 0
  let reported = 0
  const reach: BridgeReach = {
    clock,
    closed: false,
    polls: 0,
    retryMs: 0,
    pauseMs: () => notBeforeMs - clock.monotonicMs(),
    async get(path, signal) {
      const send = given ?? fetch
      const answer = await send(url.replace(/\/+$/, '') + path, {
        headers: { Authorization: `Bearer ${token}`, 'Cache-Control': 'no-store' },
        // It would carry the token to another place.
        redirect: 'manual',
        signal,
        // Older runtimes of Workers throw for a `cache` they do not implement; these have no such property either.
        ...('cache' in Request.prototype && { cache: 'no-store' }),
      })
      const { status } = answer
      if (status === 200 || status === 204) return answer
      const error = Object.assign(new Error(`The bridge answered ${status}`), { status })
      if (status === 429 || status >= 500) reach.failed(Number(answer.headers.get('retry-after')) * 1_000 || 0)
      else {
        reach.failed(refusedMs)
        if (reported !== status) onError?.(error)
        reported = status
      }
      throw error
    },
    failed(leastMs = reach.retryMs) {
      const nowMs = clock.monotonicMs()
      // Connections that were lost together have failed once.
      if (nowMs >= notBeforeMs) failures = nowMs - notBeforeMs > wellMs ? 1 : failures + 1
      const delayMs = Math.max(strategy.delayMs(failures, Math.random()), leastMs * (1 + Math.random() / 4))
      notBeforeMs = Math.max(notBeforeMs, nowMs + delayMs)
      return failures > 1 || notBeforeMs - nowMs > longPauseMs
    },
  }
  return reach
}
