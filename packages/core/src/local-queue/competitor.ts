import { beginAcquire } from '#begin-acquire'
import { type Acquired, Acquisition, type Finding, type Knowledge, type Terms } from '../acquire/acquisition.ts'
import type { Acquiring } from '../acquire/begin-acquire.ts'
import type { Context } from '../context.ts'
import type { Grant } from '../lease/grant.ts'
import type { Plan } from '../options.ts'
import type { Instant } from '../timing/validity.ts'
import { alike, briefFences, fences } from './figures.ts'
import type { Caller } from './waiting-line.ts'

/** The calls of this process for one key; a competitor is one of them. */
export interface Contest {
  /** The competitor reads it and keeps it up to date. */
  readonly known: Knowledge
  /** The grant by which one of these calls holds the key. */
  readonly grant: Grant | undefined
  hold(grant: Grant, fences: number): void
  onFinding(): void
  onEnd(competitor: Competitor): void
}

/** A call that tries the store while other calls of its process wait for what it finds. */
export class Competitor implements Terms {
  readonly since: Instant
  readonly fences: number
  readonly known: Knowledge
  readonly toldContended: boolean
  readonly begun: string | undefined
  /** Its last grant came too late, or its last try got no answer, so it may never get the lock. */
  isFailing = false
  readonly #patienceMs: number
  readonly #slackMs: number
  readonly #contest: Contest
  readonly #acquisition: Acquiring
  /** It was woken to try now and has no answer yet. */
  #woken = false

  /**
   * @param isFirst       whether nothing is known of the lock, and nobody else of this process wants it
   * @param toldContended whether the event `contended` of this call has been emitted already, because it stood in line
   * @param begun         an acquisition id under which a try has been sent already and may have been granted
   * @throws what the constructor of `Acquisition` throws
   */
  constructor(
    context: Context,
    { plan, since, patienceMs }: Caller,
    contest: Contest,
    isFirst: boolean,
    toldContended: boolean,
    begun: string | undefined,
  ) {
    this.fences = toldContended ? briefFences : fences
    this.begun = begun
    this.since = since
    this.known = contest.known
    this.toldContended = toldContended
    this.#patienceMs = patienceMs
    this.#slackMs = slackMs(plan)
    this.#contest = contest
    this.#acquisition = isFirst ? beginAcquire(context, plan, this) : new Acquisition(context, plan, this)
  }

  /**
   * Whether a call can leave the store to this competitor: it checks about as often as the call would, and is not
   * failing where the call might succeed.
   */
  standsInFor({ plan, patienceMs }: Caller): boolean {
    const isWorse = this.isFailing && slackMs(plan) > this.#slackMs
    return this.#woken || (this.#patienceMs <= alike * patienceMs && !isWorse)
  }

  /** The lock may be free: it tries now, and stands in for every call until it has an answer. */
  wake(): void {
    this.#woken = true
    this.#acquisition.wake()
  }

  /** As `run` of `Acquisition`. */
  run(began?: Instant): Promise<Acquired> {
    return this.#acquisition.run(began)
  }

  get heldHere(): boolean {
    return this.#contest.grant !== undefined
  }

  onGrant(grant: Grant): void {
    this.#contest.hold(grant, this.fences)
  }

  onEnd(): void {
    this.#contest.onEnd(this)
  }

  onFinding(finding: Finding): void {
    this.#woken = false
    if (finding !== 'held') this.isFailing = true
    this.#contest.onFinding()
  }
}

/** How late a grant may come, in milliseconds. */
export const slackMs = ({ ttlMs, minValidityMs }: Plan): number => ttlMs - minValidityMs
