import type { Clock } from '@leasehold/core'
import type { FairTurns } from './fair-turns.ts'

/** The least time between two rounds of messages, in milliseconds. Releases in between become one message. */
const leastDistanceMs = 50

/** The state of a key, as a stream reports it. */
export interface KeyState {
  readonly held: boolean
  readonly cursor: string
  /** Milliseconds until the lease expires; null if it never does, or the lock is free. */
  readonly expiresInMs: number | null
}

/** Something that wants to hear everything about a key: an event stream. */
export interface Follower {
  /** The inboxes whose waiters' turns in the queue of the key are reported to it. */
  readonly inboxes?: readonly string[]
  /**
   * Called once at the beginning (only `released` may be called before it), and again when the bridge knows who has the
   * lock after a release.
   */
  state(state: KeyState): void
  /** The lock was released or revoked, or was found to be free: once or several times since the last call. */
  released(): void
  /** A waiter of one of its inboxes has its turn. */
  turn?(inbox: string, number: string): void
  /** The bridge cannot learn the state, now or for a while, so it can promise nothing. This is the last call. */
  unavailable(): void
}

interface Following {
  readonly follower: Follower
  /** Whether its first state is still to come. */
  isNew: boolean
  /** The state about to be reported to it. */
  state: KeyState | undefined
  /** How many releases it knows of. */
  heard: number
  /** How many releases there were when the state was last reported to it. */
  stated: number
}

/**
 * The followers of one key, and what has yet to be reported to each of them.
 *
 * They hear of a release at once, and of the releases soon after it in one message. So a key that changes hands all the
 * time, or has many streams, takes a bounded share of the bridge. Other keys are served while many followers are
 * notified.
 */
export class Followers {
  readonly #clock: Clock
  readonly #turns: FairTurns
  readonly #onLeave: () => void
  readonly #all = new Set<Following>()
  /** The followers of each inbox. */
  readonly #queued = new Map<string, Set<Follower>>()
  /** The followers to which a state is about to be reported. Some may have left. */
  #informed: Following[] | undefined
  /** The followers to which a release is about to be reported. Some may have left. */
  #round: Following[] | undefined
  /** How many releases there were, and how many of them the last round covered. */
  #releases = 0
  #announced = 0
  #toldMs = Number.NEGATIVE_INFINITY
  #stopPause: (() => void) | undefined

  /** @param onLeave called after a follower has left, or was sent away */
  constructor(clock: Clock, turns: FairTurns, onLeave: () => void) {
    this.#clock = clock
    this.#turns = turns
    this.#onLeave = onLeave
  }

  get size(): number {
    return this.#all.size
  }

  /** Adds a follower until the returned function is called. A known state may be reported before this returns. */
  add(follower: Follower, known?: KeyState): () => void {
    const following: Following = { follower, isNew: true, state: undefined, heard: this.#releases, stated: 0 }
    this.#all.add(following)
    for (const inbox of follower.inboxes ?? []) {
      const known = this.#queued.get(inbox)
      if (known) known.add(follower)
      else this.#queued.set(inbox, new Set([follower]))
    }
    if (known) this.#inform(following, known)
    return () => {
      if (this.#remove(following)) this.#onLeave()
    }
  }

  /** Reports the state to the followers that do not know one yet. */
  tellNew(state: KeyState): void {
    for (const following of this.#thoseNew()) this.#inform(following, state)
  }

  /**
   * Reports who has the lock to the followers that do not know: new ones, and those that have heard of a release since.
   */
  tellHeld(state: KeyState): void {
    for (const following of this.#all) {
      if (following.isNew || following.stated !== this.#releases) this.#inform(following, state)
    }
  }

  /** Reports a release to all, or only to those who know the state, since the others are about to get the state. */
  tellReleased(whom?: 'knowing'): void {
    this.#releases++
    if (whom) for (const following of this.#thoseNew()) following.heard = this.#releases
    this.#announceWhenDue()
  }

  /** Reports the turn of a waiter, at once: a turn lasts for seconds only, and concerns few followers. */
  tellTurn(waiter: string): void {
    const [inbox = '', number = ''] = waiter.split('.')
    for (const follower of [...(this.#queued.get(inbox) ?? [])]) follower.turn?.(inbox, number)
  }

  /** Sends away the followers that do not know a state yet. */
  dismissNew(): void {
    this.#dismiss(this.#thoseNew())
  }

  dismissAll(): void {
    this.#dismiss([...this.#all])
  }

  #thoseNew(): readonly Following[] {
    return [...this.#all].filter(({ isNew }) => isNew)
  }

  #dismiss(followings: readonly Following[]): void {
    for (const following of followings) if (this.#remove(following)) following.follower.unavailable()
  }

  #remove(following: Following): boolean {
    const { follower } = following
    if (!this.#all.delete(following)) return false
    for (const inbox of follower.inboxes ?? []) {
      const known = this.#queued.get(inbox)
      known?.delete(follower)
      if (known?.size === 0) this.#queued.delete(inbox)
    }
    if (this.#all.size === 0) this.#rest()
    return true
  }

  #inform(following: Following, state: KeyState): void {
    following.isNew = false
    following.stated = this.#releases
    following.state = state
    if (this.#informed) this.#informed.push(following)
    else this.#informed = [following]
    this.#turns.add(this.#tellOne)
  }

  /** A round begins when the last one is over and the pause after it has passed. */
  #announceWhenDue(): void {
    if (this.#stopPause || this.#round || this.#all.size === 0 || this.#announced === this.#releases) return
    const leftMs = this.#toldMs + leastDistanceMs - this.#clock.monotonicMs()
    if (leftMs <= 0) this.#announce()
    else this.#stopPause = this.#clock.schedule(() => this.#announce(), leftMs, 'background')
  }

  #announce(): void {
    this.#stopPause = undefined
    this.#announced = this.#releases
    this.#toldMs = this.#clock.monotonicMs()
    const round = [...this.#all].filter(({ heard }) => heard < this.#releases)
    if (round.length === 0) return
    this.#round = round
    this.#turns.add(this.#tellOne)
  }

  /** Reports states before releases: a release may have ended what a state says. */
  readonly #tellOne = (): boolean => {
    if (this.#informed) this.#tellOneState(this.#informed)
    else if (this.#round) this.#tellOneRelease(this.#round)
    return this.#informed !== undefined || this.#round !== undefined
  }

  #tellOneState(informed: Following[]): void {
    const following = informed.shift()
    if (informed.length === 0) this.#informed = undefined
    if (!following?.state || !this.#all.has(following)) return
    const { follower, state } = following
    following.state = undefined
    follower.state(state)
  }

  #tellOneRelease(round: Following[]): void {
    const following = round.shift()
    if (following && this.#all.has(following) && following.heard < this.#announced) {
      // This includes releases that came during the round.
      following.heard = this.#releases
      following.follower.released()
    }
    if (round.length === 0) this.#endRound()
  }

  #endRound(): void {
    this.#round = undefined
    this.#toldMs = this.#clock.monotonicMs()
    this.#announceWhenDue()
  }

  #rest(): void {
    this.#stopPause?.()
    this.#stopPause = undefined
    this.#round = undefined
    this.#announced = this.#releases
  }
}
