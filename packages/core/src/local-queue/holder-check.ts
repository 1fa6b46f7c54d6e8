import type { Context } from '../context.ts'
import type { Grant } from '../lease/grant.ts'
import { failed } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { InspectOutcome } from '../store/lease-store.ts'
import type { Quiet } from '../store/question.ts'
import { parseToken } from '../store/token.ts'
import type { Instant } from '../timing/validity.ts'
import { recheckMs } from '../waiting/pacing.ts'
import { pollingCheckMs, releaseShare } from './figures.ts'
import type { Caller, WaitingLine } from './waiting-line.ts'

/** The calls of this process for one key. */
export interface CheckedCalls {
  readonly known: Quiet
  /** The calls that wait behind our own holder; undefined until the first has waited. */
  readonly line: WaitingLine | undefined
  /** Called with null when the store has not answered the release of a grant in time. */
  ended(grant: Grant, subscribers: null): void
}

/**
 * The single timer for the calls that wait behind our own holder. They send nothing to the store, so they would not
 * notice that the lock was revoked elsewhere: the timer checks that now and then. It also bounds how long they wait for
 * the answer to the holder's release.
 *
 * States:
 * - *off*: no grant is watched.
 * - *held*: the grant is checked when the store's last answer about it is too old for one of the waiting calls.
 * - *being released*: the grant is given up if the store takes too long to answer.
 *
 * No timer runs while no call waits.
 */
export class HolderCheck {
  readonly #context: Context
  readonly #calls: CheckedCalls
  #grant: Grant | undefined
  /** When the grant's release began, in monotonic milliseconds. */
  #releasingSinceMs: number | undefined
  #timer: { readonly atMs: number; cancel(): void } | undefined

  constructor(context: Context, calls: CheckedCalls) {
    this.#context = context
    this.#calls = calls
  }

  /** One of our calls holds this grant now. */
  watch(grant: Grant): void {
    this.stop()
    this.#grant = grant
    if (this.#calls.line?.size) this.#arm(this.#untilDueMs(grant))
  }

  /** The holder is giving its grant back to the store. */
  releasing({ monotonicMs }: Instant): void {
    this.#disarm()
    this.#releasingSinceMs = monotonicMs
    this.#arm(0)
  }

  /** A call has started to wait. It may need a check sooner than the others. */
  added(caller: Caller): void {
    this.#arm(this.#everyMs([caller]))
  }

  /** The grant is no longer ours, or the locker is being closed. */
  stop(): void {
    this.#disarm()
    this.#grant = undefined
    this.#releasingSinceMs = undefined
  }

  #disarm(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** @param delayMs the check comes at most this long from now, in milliseconds */
  #arm(delayMs: number): void {
    const { store, clock, background } = this.#context
    const grant = this.#grant
    if (!grant || !this.#calls.line?.size) return
    const nowMs = clock.monotonicMs()
    const sinceMs = this.#releasingSinceMs
    const atMs =
      sinceMs === undefined
        ? nowMs + Math.ceil(delayMs)
        : Math.max(nowMs, sinceMs + store.commandDeadlineMs * releaseShare)
    if (this.#timer && this.#timer.atMs <= atMs) return
    this.#disarm()
    const onTimer = (): void => {
      this.#timer = undefined
      if (sinceMs === undefined) void this.#check(grant)
      else this.#calls.ended(grant, null)
    }
    this.#timer = { atMs, cancel: background.schedule(onTimer, atMs - nowMs, 'background') }
  }

  /** The shortest check interval that one of these calls relies on, in milliseconds. */
  #everyMs(calls: Iterable<Caller> = this.#calls.line ?? []): number {
    const { notifier } = this.#context
    if (!notifier) return pollingCheckMs
    let leastMs = Infinity
    for (const { plan } of calls) leastMs = Math.min(leastMs, recheckMs(plan, notifier))
    return leastMs
  }

  /** Time until the store's last answer about our grant is too old for one of the waiting calls, in milliseconds. */
  #untilDueMs(grant: Grant): number {
    return Math.max(0, this.#everyMs() - grant.sinceAnswerMs())
  }

  /** Asks the store whether it still has our grant, unless it has said so recently. */
  async #check(grant: Grant): Promise<void> {
    const untilDueMs = this.#untilDueMs(grant)
    if (untilDueMs > 0) {
      this.#arm(untilDueMs)
      return
    }
    const { store } = this.#context
    // Nobody awaits this check. Without the catch, a rejecting store would cause an unhandled rejection and end the
    // checks.
    const { outcome } = await ask<InspectOutcome>(this.#context, grant.ttlMs, {
      once: true,
      quiet: this.#calls.known,
      send: (attempt) => attempt.follow(store.inspect(grant.key, attempt)),
    }).catch(failed(this.#context))
    if (outcome.type === 'state') {
      const { state } = outcome
      // The store knows only the fence of the grant's first holder: hand-offs do not change the token.
      const fence = parseToken(grant.token)?.fence
      if (!state.held) grant.lose('gone')
      else if (fence !== undefined && state.fence !== fence) grant.lose('superseded')
    }
    if (this.#grant === grant) this.#arm(this.#everyMs())
  }
}
