import type { Clock } from '@leasehold/core'
import type { LookReason } from './bridge-events.ts'
import { type Look, PacedLook, type Seen } from './paced-look.ts'
import { PollQueue, type WaitAnswer, type WaitRequest } from './poll-queue.ts'

/** How long whoever was woken has to take the lock before the next one is. */
const turnMs = 500
/** After a look that the store did not answer. */
const retryLookMs = 1_000
/** What is left of a millisecond when Redis has rounded a remaining time down. */
const roundingMs = 1

/** A key's state as a stream is told of it. */
export interface KeyState {
  readonly held: boolean
  readonly cursor: string
  /** Milliseconds; null without expiry, and when the lock is free. */
  readonly expiresIn: number | null
}

/** Who wants to hear everything about a key: an event stream. */
export interface Follower {
  /** Once, before anything but perhaps a release that came sooner. */
  state(state: KeyState): void
  /** The lock was released or revoked, or was found to be free. */
  released(): void
  /** The state cannot be had, now or for a while, so that nothing can be promised. There will be no other call. */
  unavailable(): void
}

interface Holder {
  readonly cursor: string
  /** When its time is over, by the monotonic clock; undefined without expiry. */
  readonly endsMs: number | undefined
}

const changed = { type: 'changed' } as const

export interface WatchedKeyOptions {
  readonly key: string
  readonly clock: Clock
  readonly look: Look
  /** The last of those who wait has gone. */
  readonly onIdle: () => void
}

/**
 * One key: who waits for it, what is known of its holder, and when to look.
 *
 * A waiter registers and then the bridge looks, unless it knows the present holder already: it saw that holder at its last
 * look, has heard of no release since, and its time is not over. It listens all the while, so what it knows is as good as a
 * look now. What another library does without an announcement it learns when the holder's time is over.
 *
 * The cursor is compared for equality only. To be held with another cursor is to be held.
 */
export class WatchedKey {
  readonly #options: WatchedKeyOptions
  readonly #clock: Clock
  readonly #pacedLook: PacedLook
  readonly #polls: PollQueue
  /** Whether each has been told the state. */
  readonly #followers = new Map<Follower, boolean>()
  #holder: Holder | undefined
  /** How many releases were heard, to know whether one came while a look was under way. */
  #releases = 0
  #stopExpiry: (() => void) | undefined
  #stopTurn: (() => void) | undefined
  /** The last that those who follow have heard is that the lock is free. */
  #toldFree = false

  constructor(options: WatchedKeyOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#pacedLook = new PacedLook(options.clock, (reason) => this.#look(reason))
    this.#polls = new PollQueue(options.clock, () => this.#rest())
  }

  /** Resolves when there is a reason to try again, or none to wait any longer. */
  wait(request: WaitRequest): Promise<WaitAnswer> {
    const known = this.#freshHolder()
    const isKnown = known?.cursor === request.cursor
    const answer = this.#polls.add(request, isKnown)
    if (isKnown) this.#armExpiry()
    else if (!request.gone.aborted) this.#pacedLook.request('first-waiter')
    return answer
  }

  /** Follows the key until the function it answers is called. */
  follow(follower: Follower): () => void {
    const known = this.#freshHolder()
    this.#followers.set(follower, known !== undefined)
    if (known) {
      follower.state(this.#stateOf(known))
      this.#armExpiry()
    } else this.#pacedLook.request('first-waiter')
    return () => {
      if (this.#followers.delete(follower)) this.#rest()
    }
  }

  /** A release was announced. */
  released(): void {
    this.#releases++
    this.#holder = undefined
    this.#tellFree()
    this.#wakeNext()
    this.#polls.lineUp()
    // For streams too, though all were told: nobody would see the time of the next holder run out.
    if (this.#isAwaited) this.#takeTurn()
  }

  /** Releases may have been missed. */
  lookAgain(delayMs: number): void {
    this.#holder = undefined
    if (this.#isAwaited) this.#pacedLook.request('reconnected', delayMs)
  }

  /** Everyone who waits is sent away, to come back or to check by themselves. */
  dismiss(): void {
    this.#holder = undefined
    this.#polls.answerAll({ type: 'unavailable' })
    for (const follower of [...this.#followers.keys()]) {
      this.#followers.delete(follower)
      follower.unavailable()
    }
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

  async #look(reason: LookReason): Promise<'again' | undefined> {
    const before = this.#releases
    const seen = await this.#options.look(this.#options.key, reason, () => this.#isAwaited)
    if (!this.#isAwaited) return undefined
    if (seen.type === 'unwanted') return 'again'
    if (seen.type !== 'looked') return this.#sawNothing(seen.type)
    // A release came meanwhile: what was seen may be what it ended.
    const isStale = before !== this.#releases
    if (!isStale && seen.changed) this.#sawFree(reason)
    else if (!isStale) this.#sawHolder(seen)
    this.#tellNew({ held: !seen.changed, cursor: seen.cursor, expiresIn: seen.expiresInMs })
    return isStale ? 'again' : undefined
  }

  #sawHolder({ cursor, expiresInMs }: Extract<Seen, { type: 'looked' }>): void {
    const endsMs = expiresInMs === null ? undefined : this.#clock.monotonicMs() + expiresInMs + roundingMs
    this.#holder = { cursor, endsMs }
    this.#toldFree = false
    this.#polls.park(cursor)
    this.#armExpiry()
  }

  /** Those whose first look it was try at once; otherwise the longest-waiting does, and everyone who follows. */
  #sawFree(reason: LookReason): void {
    this.#holder = undefined
    this.#armExpiry()
    // A holder whom the bridge never saw may have come and gone, but only where something had run out or was missed.
    if (!this.#toldFree || reason === 'expiry' || reason === 'reconnected') this.#tellFree('knowing')
    if (!this.#polls.answerNew(changed)) this.#wakeNext()
    if (this.#polls.size > 0) this.#takeTurn()
  }

  #sawNothing(type: 'unavailable' | 'bad-key'): undefined {
    this.#polls.answerNew({ type })
    for (const [follower, isTold] of [...this.#followers]) {
      if (isTold) continue
      this.#followers.delete(follower)
      follower.unavailable()
    }
    if (this.#isAwaited) this.#armLook(retryLookMs)
    else this.#rest()
  }

  /** Tells the state to those who do not know it yet. */
  #tellNew(state: KeyState): void {
    for (const [follower, isTold] of [...this.#followers]) {
      if (isTold) continue
      this.#followers.set(follower, true)
      follower.state(state)
    }
  }

  /** Tells everyone, or only those who know a state, because the others are about to. */
  #tellFree(whom?: 'knowing'): void {
    this.#toldFree = true
    for (const [follower, isTold] of [...this.#followers]) if (isTold || !whom) follower.released()
  }

  #wakeNext(): void {
    this.#polls.answerResults(changed)
    const woken = this.#polls.answerNext(changed)
    // Found closed before it had its answer: it is the next one's turn.
    woken?.gone.addEventListener('abort', () => this.#passOn(), { once: true })
  }

  /** Gives whoever was told some time to take the lock. */
  #takeTurn(): void {
    this.#stopTurn?.()
    this.#stopTurn = this.#clock.schedule(() => this.#passOn(), turnMs, 'background')
  }

  #passOn(): void {
    this.#stopTurn?.()
    this.#stopTurn = undefined
    if (this.#isAwaited) this.#pacedLook.request('passed-on')
  }

  #armExpiry(): void {
    const { endsMs } = this.#holder ?? {}
    this.#stopExpiry?.()
    this.#stopExpiry = undefined
    if (endsMs !== undefined) this.#armLook(endsMs - this.#clock.monotonicMs())
  }

  #armLook(delayMs: number): void {
    const look = (): void => {
      this.#stopExpiry = undefined
      this.#pacedLook.request('expiry')
    }
    this.#stopExpiry?.()
    this.#stopExpiry = this.#clock.schedule(look, delayMs, 'background')
  }

  #stateOf({ cursor, endsMs }: Holder): KeyState {
    const expiresIn = endsMs === undefined ? null : Math.max(0, Math.ceil(endsMs - this.#clock.monotonicMs()))
    return { held: true, cursor, expiresIn }
  }

  /** When nobody waits there is nothing to look for, and no timer. */
  #rest(): void {
    if (this.#isAwaited) return
    this.#pacedLook.cancel()
    this.#stopExpiry?.()
    this.#stopTurn?.()
    this.#stopExpiry = undefined
    this.#stopTurn = undefined
    this.#options.onIdle()
  }
}
