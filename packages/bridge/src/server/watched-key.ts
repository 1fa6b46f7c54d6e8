import type { Clock } from '@leasehold/core'
import type { CheckReason } from './bridge-events.ts'
import type { FairTurns } from './fair-turns.ts'
import { type Follower, Followers, type KeyState } from './followers.ts'
import { type Check, PacedCheck, type Seen } from './paced-check.ts'
import { PollQueue, type WaitAnswer, type WaitRequest } from './poll-queue.ts'

/** How long those who were woken have to take the lock, in milliseconds. Then the next ones are woken. */
const offerMs = 500
/** The next check after one that the store did not answer, in milliseconds. */
const retryCheckMs = 1_000
/** Redis rounds a remaining time down to the millisecond. */
const roundingMs = 1

interface Holder {
  readonly cursor: string
  /** When its lease expires, by the monotonic clock; undefined without expiry. */
  readonly endsMs: number | undefined
}

/** Some waiters were woken, and have `offerMs` to take the lock. */
interface Offer {
  /** How many polls it is for. If none of them takes the lock, the next offer is for twice as many. */
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
  /** Shares the event loop among the keys. */
  readonly turns: FairTurns
}

/**
 * One key: who waits for it, what is known of its holder, and when to check.
 *
 * A waiter registers, and then the bridge checks. It needs no check if it knows the present holder: its last check saw that
 * holder, no release was announced since, and the holder's lease has not expired. The bridge listens all the while, so what
 * it knows is as good as a check now. A release that another library does not announce is noticed when the lease expires.
 *
 * Cursors are compared for equality only. A lock that is held with another cursor is held.
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
  /** Counts events that make the answer of a check in flight worthless. */
  #doubts = 0
  #stopExpiry: (() => void) | undefined
  #offer: Offer | undefined
  /** The followers heard last that the lock is free, and no release can have been missed since. */
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

  /** Follows the key until the returned function is called. The follower may hear something before this returns. */
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
    // Also for streams, though all of them are told: otherwise nobody would notice when the next holder's lease expires.
    if (this.#isAwaited) this.#makeOffer(1, woken)
  }

  /** The waiter of that name has its turn in the queue. Nobody else is concerned. */
  turn(waiter: string): void {
    this.#followers.tellTurn(waiter)
  }

  /** Releases may have been missed: checks after `delayMs`. */
  checkAgain(delayMs: number): void {
    this.#doubts++
    this.#holder = undefined
    this.#toldFree = false
    if (this.#isAwaited) this.#pacedCheck.request('reconnected', delayMs)
  }

  /** Sends everyone away, to come back or to check for themselves. */
  dismiss(): void {
    this.#holder = undefined
    this.#polls.dismiss({ type: 'unavailable' })
    this.#followers.dismissAll()
    this.#rest()
  }

  get #isAwaited(): boolean {
    return this.#polls.size > 0 || this.#followers.size > 0
  }

  /** The holder, if it still has the lock as far as anybody has announced. */
  #freshHolder(): Holder | undefined {
    const { endsMs = Number.POSITIVE_INFINITY } = this.#holder ?? {}
    return this.#clock.monotonicMs() < endsMs ? this.#holder : undefined
  }

  #check(reason: CheckReason): Promise<'again' | undefined> {
    const before = this.#doubts
    return new Promise((resolve) => {
      const saw = (seen: Seen): void => {
        // A release came in the meantime, or may have been missed: it may have ended what this check saw.
        const isStale = seen.type === 'checked' && before !== this.#doubts
        const isWorthNothing = isStale || seen.type === 'unwanted'
        // Before anybody is told: a waiter that comes back at once needs a new check. This one serves only earlier waiters.
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
    this.#withdrawOffer()
    this.#polls.park(cursor)
    this.#armExpiry()
  }

  /**
   * Everyone whose first check this was tries at once, and so do all followers. Of the others the lock is offered to the one
   * that has waited longest, or to twice as many as the last offer was for. While an offer stands, there is no new one.
   */
  #sawFree(): void {
    this.#holder = undefined
    this.#armExpiry()
    if (!this.#toldFree) this.#tellFree('knowing')
    const isTried = this.#polls.answerNew(changed)
    if (this.#offer && !this.#offer.isOver) return
    const size = this.#offer ? 2 * this.#offer.size : 1
    const woken = this.#offer || !isTried ? this.#wake(size) : []
    this.#withdrawOffer()
    if (this.#polls.size > 0) this.#makeOffer(size, woken)
  }

  #sawNothing(type: 'unavailable' | 'bad-key'): void {
    this.#toldFree = false
    this.#polls.answerNew({ type })
    this.#followers.dismissNew()
    if (this.#isAwaited) this.#armCheck(retryCheckMs)
    else this.#rest()
  }

  /** Tells the followers: all, or only those who know the state, since the others are about to be told that. */
  #tellFree(whom?: 'knowing'): void {
    this.#toldFree = true
    this.#followers.tellReleased(whom)
  }

  /** Wakes `count` of those who wait for the lock, and everyone who waits for a result. */
  #wake(count: number): readonly WaitRequest[] {
    this.#polls.answerResults(changed)
    return this.#polls.answerNext(count, changed)
  }

  /** Gives those who were woken some time to take the lock. */
  #makeOffer(size: number, woken: readonly WaitRequest[]): void {
    this.#withdrawOffer()
    const stop = this.#clock.schedule(() => this.#offerEnded(offer), offerMs, 'background')
    const offer: Offer = { size, present: woken.length, stop, isOver: false }
    this.#offer = offer
    const leave = (): void => {
      offer.present--
      if (offer.present === 0) this.#offerEnded(offer)
    }
    // A client that has left, noticed before it had its answer.
    for (const { gone } of woken) gone.addEventListener('abort', leave, { once: true })
  }

  /** Nobody may have taken the lock. */
  #offerEnded(offer: Offer): void {
    if (offer !== this.#offer) return
    offer.stop()
    offer.isOver = true
    if (this.#isAwaited) this.#pacedCheck.request('passed-on')
  }

  #withdrawOffer(): void {
    this.#offer?.stop()
    this.#offer = undefined
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

  /** When nobody waits there is nothing to check, and no timer. */
  #rest(): void {
    if (this.#isAwaited) return
    this.#pacedCheck.cancel()
    this.#stopExpiry?.()
    this.#stopExpiry = undefined
    this.#withdrawOffer()
    this.#onIdle()
  }
}
