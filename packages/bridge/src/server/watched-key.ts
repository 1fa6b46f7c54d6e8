import type { Clock } from '@leasehold/core'
import type { CheckReason } from './bridge-events.ts'
import type { FairTurns } from './fair-turns.ts'
import { type Follower, Followers, type KeyState } from './followers.ts'
import { type Check, PacedCheck, type Seen } from './paced-check.ts'
import { PollQueue, type WaitAnswer, type WaitRequest } from './poll-queue.ts'

/** How long whoever was woken has to take the lock before the next ones are. */
const turnMs = 500
/** After a check that the store did not answer. */
const retryCheckMs = 1_000
/** What is left of a millisecond when Redis has rounded a remaining time down. */
const roundingMs = 1

interface Holder {
  readonly cursor: string
  /** When its time is over, by the monotonic clock; undefined without expiry. */
  readonly endsMs: number | undefined
}

/** The time that those who were woken have to take the lock. */
interface Turn {
  /** How many polls it is for. If none of them takes the lock, the next turn is for twice as many. */
  readonly size: number
  /** How many of them are not known to have left. */
  present: number
  readonly stop: () => void
  isOver: boolean
}

const changed = { type: 'changed' } as const

/** What all keys share. */
export interface WatchedKeyOptions {
  readonly clock: Clock
  readonly check: Check
  /** How telling many is shared among keys. */
  readonly turns: FairTurns
}

/**
 * One key: who waits for it, what is known of its holder, and when to check.
 *
 * A waiter registers and then the bridge checks, unless it knows the present holder already: it saw that holder at its last
 * check, has heard of no release since, and its time is not over. It listens all the while, so what it knows is as good as a
 * check now. What another library does without an announcement it learns when the holder's time is over.
 *
 * The cursor is compared for equality only. To be held with another cursor is to be held.
 */
export class WatchedKey {
  readonly #key: string
  readonly #options: WatchedKeyOptions
  readonly #clock: Clock
  readonly #onIdle: () => void
  readonly #pacedCheck: PacedCheck
  readonly #polls: PollQueue
  readonly #followers: Followers
  #holder: Holder | undefined
  /** How often something happened after which a check that was under way is worth nothing. */
  #doubts = 0
  #stopExpiry: (() => void) | undefined
  #turn: Turn | undefined
  /** The last that those who follow have heard is that the lock is free, and nothing can have been missed since. */
  #toldFree = false

  /** @param onIdle called when the last of those who wait has gone */
  constructor(key: string, options: WatchedKeyOptions, onIdle: () => void) {
    const { clock, turns } = options
    this.#key = key
    this.#options = options
    this.#clock = clock
    this.#onIdle = onIdle
    this.#pacedCheck = new PacedCheck(clock, (reason) => this.#check(reason))
    const rest = (): void => this.#rest()
    this.#polls = new PollQueue(clock, turns, rest)
    this.#followers = new Followers(clock, turns, rest)
  }

  /** Resolves when there is a reason to try again, or none to wait any longer. */
  wait(request: WaitRequest): Promise<WaitAnswer> {
    const known = this.#freshHolder()
    const isKnown = known?.cursor === request.cursor
    const answer = this.#polls.add(request, isKnown)
    if (request.gone.aborted) return answer
    if (isKnown) this.#armExpiry()
    else this.#pacedCheck.request('first-waiter')
    return answer
  }

  /** Follows the key until the function it answers is called. The follower may be told something before it has that. */
  follow(follower: Follower): () => void {
    const known = this.#freshHolder()
    const leave = this.#followers.add(follower, known && this.#stateOf(known))
    if (known) this.#armExpiry()
    else this.#pacedCheck.request('first-waiter')
    return leave
  }

  /** A release was announced. */
  released(): void {
    this.#doubts++
    this.#holder = undefined
    const woken = this.#wake(1)
    this.#polls.lineUp()
    this.#tellFree()
    // For streams too, though all are told: nobody would see the time of the next holder run out.
    if (this.#isAwaited) this.#beginTurn(1, woken)
  }

  /** Releases may have been missed; checks in so long. */
  checkAgain(delayMs: number): void {
    this.#doubts++
    this.#holder = undefined
    this.#toldFree = false
    if (this.#isAwaited) this.#pacedCheck.request('reconnected', delayMs)
  }

  /** Everyone who waits is sent away, to come back or to check by themselves. */
  dismiss(): void {
    this.#holder = undefined
    this.#polls.dismiss({ type: 'unavailable' })
    this.#followers.dismissAll()
    this.#rest()
  }

  get #isAwaited(): boolean {
    return this.#polls.size > 0 || this.#followers.size > 0
  }

  /** The holder, if it certainly has the lock still, but for what nobody announced. */
  #freshHolder(): Holder | undefined {
    const { endsMs = Number.POSITIVE_INFINITY } = this.#holder ?? {}
    return this.#clock.monotonicMs() < endsMs ? this.#holder : undefined
  }

  #check(reason: CheckReason): Promise<'again' | undefined> {
    const before = this.#doubts
    return new Promise((resolve) => {
      const saw = (seen: Seen): void => {
        // A release came meanwhile, or was missed: what was seen may be what it ended.
        const isStale = seen.type === 'checked' && before !== this.#doubts
        const isWorthNothing = isStale || seen.type === 'unwanted'
        // Before anybody is told, who may come back at once: one check serves those alone who came before it was answered.
        resolve(this.#isAwaited && isWorthNothing ? 'again' : undefined)
        if (this.#isAwaited && seen.type !== 'unwanted') this.#saw(seen, isStale)
      }
      void this.#options.check(this.#key, reason, () => this.#isAwaited).then(saw)
    })
  }

  #saw(seen: Exclude<Seen, { readonly type: 'unwanted' }>, isStale: boolean): void {
    if (seen.type !== 'checked') {
      this.#sawNothing(seen.type)
      return
    }
    if (isStale) this.#toldFree &&= seen.changed
    else if (seen.changed) this.#sawFree()
    else this.#sawHolder(seen)
    const state = { held: !seen.changed, cursor: seen.cursor, expiresInMs: seen.expiresInMs }
    if (seen.changed || isStale) this.#followers.tellNew(state)
    else this.#followers.tellHeld(state)
  }

  #sawHolder({ cursor, expiresInMs }: Extract<Seen, { type: 'checked' }>): void {
    const endsMs = expiresInMs === null ? undefined : this.#clock.monotonicMs() + expiresInMs + roundingMs
    this.#holder = { cursor, endsMs }
    this.#toldFree = false
    this.#endTurn()
    this.#polls.park(cursor)
    this.#armExpiry()
  }

  /**
   * Those whose first check it was try at once, and so does everyone who follows. Of the others it is the turn of the
   * longest-waiting one, or of twice as many as in the turn that has passed; unless somebody has a turn still.
   */
  #sawFree(): void {
    this.#holder = undefined
    this.#armExpiry()
    if (!this.#toldFree) this.#tellFree('knowing')
    const isTried = this.#polls.answerNew(changed)
    if (this.#turn && !this.#turn.isOver) return
    const size = this.#turn ? 2 * this.#turn.size : 1
    const woken = this.#turn || !isTried ? this.#wake(size) : []
    this.#endTurn()
    if (this.#polls.size > 0) this.#beginTurn(size, woken)
  }

  #sawNothing(type: 'unavailable' | 'bad-key'): void {
    this.#toldFree = false
    this.#polls.answerNew({ type })
    this.#followers.dismissNew()
    if (this.#isAwaited) this.#armCheck(retryCheckMs)
    else this.#rest()
  }

  /** Tells those who follow: everyone, or only those who know a state, because the others are about to. */
  #tellFree(whom?: 'knowing'): void {
    this.#toldFree = true
    this.#followers.tellReleased(whom)
  }

  /** It is the turn of so many of those who wait for the lock. Who waits for a result takes none. */
  #wake(count: number): readonly WaitRequest[] {
    this.#polls.answerResults(changed)
    return this.#polls.answerNext(count, changed)
  }

  /** Gives whoever was told some time to take the lock. */
  #beginTurn(size: number, woken: readonly WaitRequest[]): void {
    this.#endTurn()
    const stop = this.#clock.schedule(() => this.#passOn(turn), turnMs, 'background')
    const turn: Turn = { size, present: woken.length, stop, isOver: false }
    this.#turn = turn
    const leave = (): void => {
      turn.present--
      if (turn.present === 0) this.#passOn(turn)
    }
    // Found closed before it had its answer.
    for (const { gone } of woken) gone.addEventListener('abort', leave, { once: true })
  }

  /** The lock may be free still. */
  #passOn(turn: Turn): void {
    if (turn !== this.#turn) return
    turn.stop()
    turn.isOver = true
    if (this.#isAwaited) this.#pacedCheck.request('passed-on')
  }

  #endTurn(): void {
    this.#turn?.stop()
    this.#turn = undefined
  }

  #armExpiry(): void {
    const { endsMs } = this.#holder ?? {}
    this.#stopExpiry?.()
    this.#stopExpiry = undefined
    if (endsMs !== undefined) this.#armCheck(endsMs - this.#clock.monotonicMs())
  }

  #armCheck(delayMs: number): void {
    const check = (): void => {
      this.#stopExpiry = undefined
      this.#pacedCheck.request('expiry')
    }
    this.#stopExpiry?.()
    this.#stopExpiry = this.#clock.schedule(check, delayMs, 'background')
  }

  #stateOf({ cursor, endsMs }: Holder): KeyState {
    const expiresInMs = endsMs === undefined ? null : Math.max(0, Math.ceil(endsMs - this.#clock.monotonicMs()))
    return { held: true, cursor, expiresInMs }
  }

  /** When nobody waits there is nothing to look for, and no timer. */
  #rest(): void {
    if (this.#isAwaited) return
    this.#pacedCheck.cancel()
    this.#stopExpiry?.()
    this.#stopExpiry = undefined
    this.#endTurn()
    this.#onIdle()
  }
}
