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
 * The one timer under those who wait behind our own holder. They hear nothing of the store, so now and then somebody has to
 * check whether the lock was revoked elsewhere; nor do they wait for long for the answer to its release.
 *
 * It is *off*, or watches a grant: that is *held*, and checked when what the store has last said of it is as old as they rely on
 * it; or it is *being released*, and given up when that takes long. There is no timer while nobody waits.
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

  /** @param onSlowRelease the store has not answered to the release of this grant in time */
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

  /** One more waits, who may need a check sooner than the others. */
  joined(caller: Caller): void {
    this.#arm(this.#everyMs([caller]))
  }

  /** No longer ours, or nobody waits any more. */
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

  /** Until what the store has last said of our grant is as old as they rely on it, in milliseconds. */
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
    // Nobody waits for this: what a store may reject with would be nobody's to catch, and would end the checks.
    const options = { once: true, quiet: this.#quiet }
    const { outcome } = await ask(this.#context, grant.ttlMs, inspect, options).catch(failed(this.#context))
    if (outcome.type === 'state') {
      const { state } = outcome
      // The fence that the store knows is that of the first holder.
      const fence = parseToken(grant.token)?.fence
      if (!state.held) grant.lose('gone')
      else if (fence !== undefined && state.fence !== fence) grant.lose('superseded')
    }
    if (this.#grant === grant) this.#arm(this.#everyMs())
  }
}
