import type { Clock } from '@leasehold/core'
import type { FairTurns } from './fair-turns.ts'

/** From when all have been told of a release until they are told of the next. What comes in between is one message. */
const leastDistanceMs = 50

/** A key's state as a stream is told of it. */
export interface KeyState {
  readonly held: boolean
  readonly cursor: string
  /** Milliseconds; null without expiry, and when the lock is free. */
  readonly expiresInMs: number | null
}

/** Who wants to hear everything about a key: an event stream. */
export interface Follower {
  /**
   * Once, before anything but perhaps a release that came sooner; and again when the bridge knows who has the lock since it told
   * of a release.
   */
  state(state: KeyState): void
  /** The lock was released or revoked, or was found to be free: once or several times since the last call. */
  released(): void
  /** The state cannot be had, now or for a while, so that nothing can be promised. There will be no other call. */
  unavailable(): void
}

interface Following {
  readonly follower: Follower
  /** Its first check is still to come. */
  isNew: boolean
  /** What it is about to be told. */
  state: KeyState | undefined
  /** Of so many releases it knows. */
  heard: number
  /** How many there were when it was last told the state. */
  stated: number
}

/**
 * Those who follow one key, and what each of them is still to be told.
 *
 * They are told of a release at once, and of those that come soon after it together: a key that changes hands all the time, or
 * whose streams are many, takes no more of the bridge than that. Telling many goes on while other keys are served.
 */
export class Followers {
  readonly #clock: Clock
  readonly #turns: FairTurns
  readonly #onLeave: () => void
  readonly #all = new Set<Following>()
  /** Those who are about to be told the state, and of a release; some may have left. */
  #informed: Following[] | undefined
  #round: Following[] | undefined
  /** How many releases there were, and of how many those of the last round were to be told. */
  #releases = 0
  #announced = 0
  #toldMs = Number.NEGATIVE_INFINITY
  #stopPause: (() => void) | undefined

  /** @param onLeave called after one has left, or was sent away */
  constructor(clock: Clock, turns: FairTurns, onLeave: () => void) {
    this.#clock = clock
    this.#turns = turns
    this.#onLeave = onLeave
  }

  get size(): number {
    return this.#all.size
  }

  /** Follows until the function it answers is called; may be told the state, if that is known, before it has that function. */
  add(follower: Follower, known?: KeyState): () => void {
    const following: Following = { follower, isNew: true, state: undefined, heard: this.#releases, stated: 0 }
    this.#all.add(following)
    if (known) this.#inform(following, known)
    return () => {
      if (this.#remove(following)) this.#onLeave()
    }
  }

  /** Tells the state to those who do not know it yet. */
  tellNew(state: KeyState): void {
    for (const following of this.#thoseNew()) this.#inform(following, state)
  }

  /** Tells who has the lock to those who do not know that yet: they were told of a release since. */
  tellHeld(state: KeyState): void {
    for (const following of this.#all) {
      if (following.isNew || following.stated !== this.#releases) this.#inform(following, state)
    }
  }

  /** Tells of a release: everyone, or only those who know a state, because the others are about to. */
  tellReleased(whom?: 'knowing'): void {
    this.#releases++
    if (whom) for (const following of this.#thoseNew()) following.heard = this.#releases
    this.#announceWhenDue()
  }

  /** Sends those away who do not know the state. */
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
    if (!this.#all.delete(following)) return false
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

  /** The next round begins when the one before is over, and a pause has passed. */
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

  /** A state before a release: it may be what that has ended. */
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
      // Also of those that came while others were told.
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
