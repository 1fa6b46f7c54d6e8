import { type Finding, nothingKnown } from '../acquire/acquisition.ts'
import type { Context } from '../context.ts'
import type { Shared } from '../key-locker.ts'
import type { Grant } from '../lease/grant.ts'
import { Renewal } from '../lease/renewal.ts'
import type { Watch } from '../lease/watch.ts'
import { commandDeadlineMs } from '../store/question.ts'
import { settledWithin } from '../timing/deadline.ts'
import { elapsedMs, type Instant, instant, waitedMs } from '../timing/validity.ts'
import { acquireGroup, apart, type SetAcquired } from './acquire-group.ts'
import { rollbackMs } from './figures.ts'
import { giveBack } from './give-back.ts'
import { manyOf } from './many-of.ts'
import type { SetLine } from './set-line.ts'
import type { SetPlan } from './set-plan.ts'

interface SetTerms {
  readonly since: Instant
  /** Whether the event `contended` has already been emitted, because the call stood in line. */
  readonly toldContended: boolean
  /** The calls behind this one in line learn what it finds. */
  readonly line: SetLine | undefined
}

/**
 * Acquires a set, all of it or nothing, group after group, in the order of the keys. A call that waits for a lock holds
 * only locks that come before it. So no two calls wait for each other, and the one that is furthest along can always go
 * on.
 *
 * Locks that are held in the meantime are renewed, whatever the plan says about the lease. If one is lost, or too
 * little validity is left in the end, all of them are given back, and the set is acquired anew as long as there is
 * time.
 *
 * Create one for each call.
 */
export class SetAcquisition {
  readonly #shared: Shared
  readonly #context: Context
  readonly #keys: readonly string[]
  readonly #plan: SetPlan
  readonly #since: Instant
  /** Renews what is held while the call waits for the rest. */
  readonly #watch: Watch
  #lateGrants = 0
  #toldContended: boolean
  readonly #line: SetLine | undefined

  constructor(shared: Shared, keys: readonly string[], plan: SetPlan, { since, toldContended, line }: SetTerms) {
    this.#shared = shared
    this.#context = shared.context
    this.#keys = keys
    this.#plan = plan
    this.#since = since
    this.#toldContended = toldContended
    this.#line = line
    this.#watch = shared.queue() ? shared.jointRenewal : new Renewal(shared.context)
  }

  /** @throws everything that `Acquisition.run` throws; what was taken is given back */
  async run(): Promise<SetAcquired> {
    const many = manyOf(this.#context.store)
    const alone = this.#keys.map((key) => [key])
    let groups = many?.groupsOf(this.#keys) ?? alone
    for (;;) {
      const found = await this.#round(many, groups)
      if (found !== apart) {
        if (found) return found
        this.#lateGrants++
        if (!this.#goesOn()) return this.#inVain(null)
      } else {
        const finer = many?.groupsOf(this.#keys) ?? alone
        groups = finer.length > groups.length ? finer : alone
      }
    }
  }

  /** Takes group after group. Resolves with undefined if what was taken is of no use. */
  async #round(
    many: ReturnType<typeof manyOf>,
    groups: readonly (readonly string[])[],
  ): Promise<SetAcquired | typeof apart | undefined> {
    const taken: Grant[] = []
    let answer: SetAcquired | typeof apart | undefined
    try {
      for (const group of groups) {
        const known = nothingKnown()
        const found = await acquireGroup(this.#context, many, group, this.#plan, {
          since: this.#since,
          known,
          toldContended: this.#toldContended,
          onFinding: (finding) => this.#learn(finding, known.holder),
        })
        if (found === apart) answer = found
        else {
          this.#lateGrants += found.lateGrants
          if (found.grants.length === 0) answer = this.#inVain(found.holder)
          else if (groups.length > 1) for (const grant of found.grants) this.#keep(grant)
          taken.push(...found.grants)
        }
        if (answer) break
      }
    } catch (error) {
      void this.#giveBack(taken)
      throw error
    }
    if (!answer && this.#isOfUse(taken)) return this.#complete(taken)
    await settledWithin(this.#context.clock, rollbackMs, this.#giveBack(taken))
    return answer
  }

  /**
   * How the call ends if its time ran out before it had the turn.
   *
   * @throws StoreUnavailableError if nobody can say that the set is held
   */
  inLine(line: SetLine): SetAcquired {
    line.assertAnswered()
    if (!line.isHeld) this.#plan.key = line.key
    return { ...this.#inVain(line.isHeld ? this.#context.name : line.holder), heldHere: line.isHeld }
  }

  #learn(finding: Finding, holder: string | null): void {
    this.#toldContended ||= finding === 'held'
    if (this.#line) Object.assign(this.#line, { finding, key: this.#plan.key, holder })
  }

  #goesOn(): boolean {
    const { ttlMs, waitMs, budget } = this.#plan
    const mostMs = waitMs || commandDeadlineMs(this.#context, ttlMs)
    return budget.left >= 1 && mostMs - elapsedMs(instant(this.#context.clock), this.#since) > 1
  }

  #isOfUse(taken: readonly Grant[]): boolean {
    const now = instant(this.#context.clock)
    return taken.every((grant) => grant.remainingMs(now) >= this.#plan.minValidityMs)
  }

  /** Keeps a grant while the call waits for others. */
  #keep(grant: Grant): void {
    grant.holder = { onLost: () => this.#watch.forget(grant) }
    this.#watch.watch(grant, { ...this.#plan, renew: true, maxHoldMs: undefined, longHeldMs: Infinity })
  }

  #complete(taken: readonly Grant[]): SetAcquired {
    // All of them count as held from when the last was granted.
    const heldSince = taken[taken.length - 1]?.heldSince as Instant
    for (const grant of taken) {
      this.#watch.forget(grant)
      grant.heldSince = heldSince
      grant.dueMs = Infinity
      grant.renewing = false
    }
    return { ...this.#inVain(null), grants: taken }
  }

  #inVain(holder: string | null | undefined): SetAcquired {
    const { clock } = this.#context
    return {
      grants: [],
      waitedMs: waitedMs(clock, this.#since),
      commands: this.#plan.commands,
      lateGrants: this.#lateGrants,
      holder: holder ?? null,
      heldHere: this.#shared.queue()?.holding(this.#plan.key) !== undefined,
    }
  }

  #giveBack(taken: readonly Grant[]): Promise<void> {
    for (const grant of taken) this.#watch.forget(grant)
    return giveBack(this.#shared, taken)
  }
}
