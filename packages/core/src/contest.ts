import type { Grant } from './grant.ts'
import type { Plan } from './options.ts'
import type { SignalCount } from './signal-count.ts'
import { elapsedMs, type Instant } from './timing/validity.ts'
import type { WaitingCall, WaitingLine } from './waiting-line.ts'

/** How often a grant may pass from waiter to waiter of this process before others have a chance. */
export const mostHandOffs = 16
/** And for how long, in milliseconds. */
const longestStretchMs = 1_000

/** A call that tries the store. */
export interface Competitor {
  readonly plan: Plan
  /** How long it may go without looking at the store, in milliseconds. */
  readonly patienceMs: number
  /** It has been told that the lock is held. */
  sawHolder: boolean
  /** It was granted the lock later than its plan allows, so it may well never get it. */
  late: boolean
  /** End its pause, where nobody else does: the lock may be free. */
  readonly nudges: SignalCount
  /** It was told so, and has had no answer of the store since: it goes first. */
  nudged: boolean
}

/** After a stretch of hand-offs nobody of us tries for a while, so that others come first. */
interface HeadStart {
  readonly pauseMs: number
  cancel(): void
}

/**
 * One key, as far as this process is concerned. It is *held* by one of us, *competed* for by some of us, left to others for
 * the time of a *head start*, or none of these; and others of us may wait in line.
 */
export class Contest {
  readonly key: string
  grant: Grant | undefined
  competitors: readonly Competitor[] = []
  headStart: HeadStart | undefined
  /** Made when somebody has to wait: most keys are held without that. */
  line: WaitingLine | undefined
  /** Our holder has been told that others of us wait. */
  wanted = false
  /** How often what we hold has been handed off, and when that was first. */
  #handOffs = 0
  #firstHandOff: Instant | undefined

  constructor(key: string) {
    this.key = key
  }

  /** One of us has it now, from the store. */
  hold(grant: Grant): void {
    this.grant = grant
    this.wanted = false
    this.#handOffs = 0
    this.#firstHandOff = undefined
  }

  /** Another of us has it now. */
  handOff(now: Instant): void {
    this.wanted = false
    this.#handOffs++
    this.#firstHandOff ??= now
  }

  /** It has been handed off as often, or for as long, as it may be before others have a chance. */
  isStretchOver(now: Instant): boolean {
    if (this.#handOffs >= mostHandOffs) return true
    return this.#firstHandOff !== undefined && elapsedMs(now, this.#firstHandOff) >= longestStretchMs
  }

  add(competitor: Competitor): void {
    this.competitors = [...this.competitors, competitor]
  }

  remove(competitor: Competitor): void {
    this.competitors = this.competitors.filter((each) => each !== competitor)
  }

  /**
   * Whether somebody does for this call what it would do for itself, so that it need not try the store: a competitor that
   * looks about as often, and is not known to fail where this one would not; or a head start shorter than its patience.
   */
  covers(call: Pick<WaitingCall, 'plan' | 'patienceMs'>): boolean {
    const { headStart } = this
    if (headStart && headStart.pauseMs <= call.patienceMs) return true
    return this.competitors.some((competitor) => standsIn(competitor, call))
  }

  /** Whether the lock was seen to be held, so that who gives up knows why. */
  get sawHolder(): boolean {
    return !!this.grant || !!this.headStart || this.competitors.some(({ sawHolder }) => sawHolder)
  }

  get isOver(): boolean {
    return !this.grant && !this.headStart && !this.line?.size && this.competitors.length === 0
  }
}

/** Waiters that look within twice each other's time are alike: or each of many plans would have a competitor of its own. */
const alike = 2

const standsIn = (competitor: Competitor, { plan, patienceMs }: Pick<WaitingCall, 'plan' | 'patienceMs'>): boolean =>
  competitor.nudged ||
  (competitor.patienceMs <= alike * patienceMs && !(competitor.late && slackMs(plan) > slackMs(competitor.plan)))

/** How late a grant may come, in milliseconds. */
const slackMs = ({ ttlMs, minValidityMs }: Plan): number => ttlMs - minValidityMs
