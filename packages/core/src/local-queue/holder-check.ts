import type { Context } from '../context.ts'
import type { Grant } from '../lease/grant.ts'
import { failed } from '../store/answered.ts'
import { ask, type Quiet } from '../store/ask.ts'
import type { InspectOutcome } from '../store/lease-store.ts'
import { parseToken } from '../store/token.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { recheckMs } from '../waiting/pacing.ts'
import { pollingCheckMs, releaseShare } from './figures.ts'
import type { Caller, WaitingLine } from './waiting-line.ts'

/**
 * Those who wait behind our own holder hear nothing from the store. One timer serves them all: it checks whether the lock was
 * revoked elsewhere, and ends the wait for a release that is not answered.
 *
 * States:
 * - *off*: there is no grant to watch.
 * - *held*: the grant is checked when the last answer about it is as old as a waiter may rely on.
 * - *releasing*: our holder gives the grant back. When that takes long, it counts as ended.
 *
 * There is no timer while nobody waits.
 */
export class HolderCheck {
  readonly #context: Context
  readonly #quiet: Quiet
  readonly #line: () => WaitingLine | undefined
  readonly #onSlowRelease: (grant: Grant) => void
  #grant: Grant | undefined
  /** Since when it is being released, in monotonic milliseconds. */
  #releasingSinceMs: number | undefined
  #timer: { readonly atMs: number; cancel(): void } | undefined

  /** @param onSlowRelease called when the release of this grant is not answered in time */
  constructor(
    context: Context,
    quiet: Quiet,
    line: () => WaitingLine | undefined,
    onSlowRelease: (grant: Grant) => void,
  ) {
    this.#context = context
    this.#quiet = quiet
    this.#line = line
    this.#onSlowRelease = onSlowRelease
  }

  /** Held by one of us from now on. */
  watch(grant: Grant): void {
    this.stop()
    this.#grant = grant
    this.#arm(this.#untilDueMs(grant))
  }

  /** Its holder gives it back. */
  releasing(): void {
    this.#disarm()
    this.#releasingSinceMs = this.#context.clock.monotonicMs()
    this.#arm(0)
  }

  /** One more has started a wait, and may need a check before the others do. */
  waitStarted(caller: Caller): void {
    this.#arm(this.#everyMs([caller]))
  }

  /** The grant is no longer ours, or the waits have been ended. */
  stop(): void {
    this.#disarm()
    this.#grant = undefined
    this.#releasingSinceMs = undefined
  }

  #disarm(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** @param delayMs when to check at the latest, from now */
  #arm(delayMs: number): void {
    const { store, clock, background } = this.#context
    const grant = this.#grant
    if (!grant || !this.#line()?.size) return
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
      else this.#onSlowRelease(grant)
    }
    this.#timer = { atMs, cancel: background.schedule(onTimer, atMs - nowMs, 'background') }
  }

  /** How often one of these calls relies on a check, in milliseconds. */
  #everyMs(calls: Iterable<Caller> = this.#line() ?? []): number {
    const { notifier } = this.#context
    if (!notifier) return pollingCheckMs
    let leastMs = Infinity
    for (const { plan } of calls) leastMs = Math.min(leastMs, recheckMs(plan, notifier))
    return leastMs
  }

  /** How long until the last answer about our grant is as old as a waiter may rely on, in milliseconds. */
  #untilDueMs(grant: Grant): number {
    return Math.max(0, this.#everyMs() - grant.sinceAnswerMs())
  }

  /** Asks the store whether it still knows of our grant, unless it has said so lately. */
  async #check(grant: Grant): Promise<void> {
    const untilDueMs = this.#untilDueMs(grant)
    if (untilDueMs > 0) {
      this.#arm(untilDueMs)
      return
    }
    const { store } = this.#context
    const inspect = (call: CallDeadline): Promise<InspectOutcome> => store.inspect(grant.key, call)
    // Nobody awaits this: nobody would catch what a store rejects with, and the checks would end.
    const options = { once: true, quiet: this.#quiet }
    const { outcome } = await ask(this.#context, grant.ttlMs, inspect, options).catch(failed(this.#context))
    if (outcome.type === 'state') {
      const { state } = outcome
      // The store knows the fence of the first holder.
      const fence = parseToken(grant.token)?.fence
      if (!state.held) grant.lose('gone')
      else if (fence !== undefined && state.fence !== fence) grant.lose('superseded')
    }
    if (this.#grant === grant) this.#arm(this.#everyMs())
  }
}
