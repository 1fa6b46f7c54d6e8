import { assertAnswered, type Finding } from '../acquire/acquisition.ts'
import type { Context } from '../context.ts'
import type { Shared } from '../key-locker.ts'
import { sleep } from '../timing/deadline.ts'
import { elapsedMs, type Instant, instant } from '../timing/validity.ts'
import { patienceMs } from '../waiting/pacing.ts'
import type { SetPlan } from './set-plan.ts'

/**
 * The calls of one process for the same set, in order of arrival. One of them has the *turn*: it asks the store, and
 * keeps the turn while it has the set. The others wait behind it without sending commands, so that a release does not
 * wake all of them.
 */
export class SetLine {
  /** What the call with the turn last found out about the lock that was in the way. */
  finding: Finding | undefined
  key = ''
  holder: string | null = null
  /** Whether the call with the turn has the set. */
  isHeld = false
  readonly #context: Context
  readonly #onIdle: () => void
  readonly #waiting = new Set<() => void>()
  #isTaken = false

  constructor(context: Context, onIdle: () => void) {
    this.#context = context
    this.#onIdle = onIdle
  }

  /**
   * Waits for the turn. Resolves with a function that passes it on, once; with undefined if the call's time runs out
   * first.
   *
   * @throws LeaseholdError with code `CLOSED` when the locker is closed
   * @throws the reason of the plan's signal when that is aborted
   */
  async turn(plan: SetPlan, since: Instant, onWait: () => void): Promise<(() => void) | undefined> {
    const { clock, work } = this.#context
    if (this.#isTaken) {
      onWait()
      const span = work.begin(plan.signal)
      let isOurs = false
      try {
        await sleep(clock, plan.waitMs - elapsedMs(instant(clock), since), span.signal, (wake) => {
          const take = (): void => {
            isOurs = true
            wake()
          }
          this.#waiting.add(take)
          return () => this.#waiting.delete(take)
        })
      } finally {
        work.end(span)
      }
      if (!isOurs) return undefined
    }
    this.#isTaken = true
    let hasPassed = false
    return () => {
      if (!hasPassed) this.#pass()
      hasPassed = true
    }
  }

  /** The call with the turn has the set now. */
  hold(): void {
    this.isHeld = true
    this.finding = 'held'
  }

  /** @throws StoreUnavailableError if the store has fallen silent since a holder was last known */
  assertAnswered(): void {
    if (!this.isHeld) assertAnswered(this.finding, 'no')
  }

  #pass(): void {
    this.isHeld = false
    const [next] = this.#waiting
    if (next) {
      this.#waiting.delete(next)
      next()
    } else {
      this.#isTaken = false
      this.#onIdle()
    }
  }
}

/** The lines of each locker, by what their calls have in common. */
const lines = new WeakMap<Shared, Map<string, SetLine>>()

/**
 * The line of a set; undefined where calls share nothing, and for a call that does not wait. Calls with other options
 * stand in another line: a call that checks less often, or can use a later grant, cannot stand in for them.
 */
export function lineFor(shared: Shared, keys: readonly string[], plan: SetPlan): SetLine | undefined {
  const { context, queue } = shared
  if (!queue() || plan.waitMs === 0) return undefined
  const { ttlMs, minValidityMs } = plan
  const name = JSON.stringify([patienceMs(plan, context.notifier), ttlMs, minValidityMs, ...keys])
  const ours = lines.get(shared) ?? new Map<string, SetLine>()
  lines.set(shared, ours)
  const line = ours.get(name) ?? new SetLine(context, () => ours.delete(name))
  ours.set(name, line)
  return line
}
