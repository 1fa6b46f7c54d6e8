import type { Clock } from '@leasehold/core'
import type { CheckReason } from './bridge-events.ts'
import type { FairTurns } from './fair-turns.ts'
import { type Follower, Followers, type KeyState } from './followers.ts'
import { type Check, PacedCheck, type Seen } from './paced-check.ts'
import { PollQueue, type WaitAnswer, type WaitRequest } from './poll-queue.ts'

/** How long woken waiters have to take the lock, in milliseconds. Then the next ones are woken. */
const offerMs = 500
/** The delay of the next check after one that the store did not answer, in milliseconds. */
const retryCheckMs = 1_000
/** Added to a remaining time, in milliseconds, because Redis rounds it down to the millisecond. */
const roundingMs = 1

interface Holder {
  readonly cursor: string
  /** When its lease expires, in monotonic milliseconds; undefined if it never does. */
  readonly endsMs: number | undefined
}

/** Some waiters were woken, and have `offerMs` to take the lock. */
interface Offer {
  /** How many polls the offer is for. If none of them takes the lock, the next offer is for twice as many. */
  readonly size: number
  /** How many of those polls are not known to have left. */
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
 * A waiter registers, and then the bridge checks. No check is needed if the bridge knows the current holder: its last
 * check saw that holder, no release has been announced since, and the holder's lease has not expired. The bridge
 * listens all the while, so what it knows is as good as a fresh check. A release that another library does not announce
 * is noticed when the lease expires.
 *
 * Cursors are compared for equality only. A lock that is held with another cursor is still held.
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
  /** Counts the events that make the answer to a check in flight useless. */
  #doubts = 0
  #stopExpiry: (() => void) | undefined
  #offer: Offer | undefined
  /** Whether the followers last heard that the lock is free, and no release can have been missed since. */
  #toldFree = false

  /** @param onIdle called when the last poll or follower has gone */
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

  /** Resolves when there is a reason to try again, or no reason to keep waiting. */
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
    // Also for streams, although all of them are notified: otherwise nobody would notice when the next holder's lease
    // expires.
    if (this.#isAwaited) this.#makeOffer(1, woken)
  }

  /** The waiter with that name has its turn in the queue. It concerns nobody else. */
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

  /** Sends all waiters and followers away, to come back or to check for themselves. */
  dismiss(): void {
    this.#holder = undefined
    this.#polls.dismiss({ type: 'unavailable' })
    this.#followers.dismissAll()
    this.#rest()
  }

  get #isAwaited(): boolean {
    return this.#polls.size > 0 || this.#followers.size > 0
  }

  /** The last known holder, if its lease has not expired. A release that was announced has cleared it. */
  #freshHolder(): Holder | undefined {
    const { endsMs = Number.POSITIVE_INFINITY } = this.#holder ?? {}
    return this.#clock.monotonicMs() < endsMs ? this.#holder : undefined
  }

  #check(reason: CheckReason): Promise<'again' | undefined> {
    const before = this.#doubts
    return new Promise((resolve) => {
      const saw = (seen: Seen): void => {
        // A release came in the meantime, or may have been missed, and may have invalidated what this check saw.
        const isStale = seen.type === 'checked' && before !== this.#doubts
        const isWorthNothing = isStale || seen.type === 'unwanted'
        // Resolve before anybody is notified: a waiter that comes back at once needs a new check. This one serves only
        // earlier waiters.
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
   * The polls whose first check this was try at once, and so do all followers. Among the others, the lock is offered to
   * the one that has waited longest, or to twice as many as the last offer was for. While an offer stands, there is no
   * new one.
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

  /** Notifies the followers: all, or only those who know the state, since the others are about to get the state. */
  #tellFree(whom?: 'knowing'): void {
    this.#toldFree = true
    this.#followers.tellReleased(whom)
  }

  /** Wakes `count` polls that wait for the lock, and all that wait for a result. */
  #wake(count: number): readonly WaitRequest[] {
    this.#polls.answerResults(changed)
    return this.#polls.answerNext(count, changed)
  }

  /** Gives the woken waiters some time to take the lock. */
  #makeOffer(size: number, woken: readonly WaitRequest[]): void {
    this.#withdrawOffer()
    const stop = this.#clock.schedule(() => this.#offerEnded(offer), offerMs, 'background')
    const offer: Offer = { size, present: woken.length, stop, isOver: false }
    this.#offer = offer
    const leave = (): void => {
      offer.present--
      if (offer.present === 0) this.#offerEnded(offer)
    }
    // For a client that is noticed to have left before it got its answer.
    for (const { gone } of woken) gone.addEventListener('abort', leave, { once: true })
  }

  /** Perhaps nobody has taken the lock. */
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

  /** When nobody waits, there is nothing to check and no timer. */
  #rest(): void {
    if (this.#isAwaited) return
    this.#pacedCheck.cancel()
    this.#stopExpiry?.()
    this.#stopExpiry = undefined
    this.#withdrawOffer()
    this.#onIdle()
  }
}
