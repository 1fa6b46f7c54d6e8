import type { Clock } from '@leasehold/core'
import type { FairTurns } from './fair-turns.ts'

export interface WaitRequest {
  /** The cursor that the contended acquire returned, or that of the last poll. */
  readonly cursor: string
  readonly timeoutMs: number
  /** Whether it waits for a result rather than for the lock, so that there is no reason to wake only one. */
  readonly forResult: boolean
  /** Aborted when the client has left. */
  readonly gone: AbortSignal
}

export type WaitAnswer =
  /** There is a reason to try again. */
  | { readonly type: 'changed' }
  /** The timeout has passed. The cursor is that of the current holder, as far as the bridge knows. */
  | { readonly type: 'unchanged'; readonly cursor: string }
  /** The bridge cannot tell. */
  | { readonly type: 'unavailable' }
  | { readonly type: 'bad-key' }
  /** The client has left. */
  | { readonly type: 'gone' }

/** One poll. There may be thousands, so it is one object, and also the event listener for its client's leaving. */
class Poll {
  readonly request: WaitRequest
  readonly resolve: (answer: WaitAnswer) => void
  readonly #leave: (poll: Poll, answer: WaitAnswer) => void
  cursor: string
  /** Whether a check has seen the lock held, or a release was heard, since this poll came: it waits in line. */
  isParked: boolean
  /** The answer about to be sent. */
  answer: WaitAnswer | undefined
  stopTimer: (() => void) | undefined

  constructor(
    request: WaitRequest,
    isParked: boolean,
    resolve: (answer: WaitAnswer) => void,
    leave: (poll: Poll, answer: WaitAnswer) => void,
  ) {
    this.request = request
    this.isParked = isParked
    this.resolve = resolve
    this.#leave = leave
    this.cursor = request.cursor
  }

  /** The client has left. */
  handleEvent(): void {
    this.#leave(this, { type: 'gone' })
  }
}

/**
 * The long polls of one key; the one that has waited longest is first. Each poll leaves on its own when its timeout has
 * passed or its client has left.
 */
export class PollQueue {
  readonly #clock: Clock
  readonly #turns: FairTurns
  readonly #onLeave: () => void
  readonly #polls = new Set<Poll>()
  /** The polls whose answer is decided but not sent yet. */
  #answered: Poll[] | undefined

  /** @param onLeave called when a poll no longer waits */
  constructor(clock: Clock, turns: FairTurns, onLeave: () => void) {
    this.#clock = clock
    this.#turns = turns
    this.#onLeave = onLeave
  }

  get size(): number {
    return this.#polls.size
  }

  add(request: WaitRequest, isParked: boolean): Promise<WaitAnswer> {
    return new Promise((resolve) => {
      const poll = new Poll(request, isParked, resolve, this.#leave)
      this.#polls.add(poll)
      if (request.gone.aborted) return this.#leave(poll, { type: 'gone' })
      const timeUp = (): void => this.#leave(poll, { type: 'unchanged', cursor: poll.cursor })
      poll.stopTimer = this.#clock.schedule(timeUp, request.timeoutMs, 'background')
      request.gone.addEventListener('abort', poll)
    })
  }

  /** The lock is held, with this cursor. */
  park(cursor: string): void {
    for (const poll of this.#polls) {
      poll.cursor = cursor
      poll.isParked = true
    }
  }

  /** A release was heard: all polls wait in line now, even those whose first check is still to come. */
  lineUp(): void {
    for (const poll of this.#polls) poll.isParked = true
  }

  /** Answers the `count` polls that have waited longest for the lock, and returns them. */
  answerNext(count: number, answer: WaitAnswer): readonly WaitRequest[] {
    const meant: Poll[] = []
    for (const poll of this.#polls) {
      if (meant.length === count) break
      if (!poll.request.forResult) meant.push(poll)
    }
    this.#answer(meant, answer)
    return meant.map(({ request }) => request)
  }

  /** Answers the polls that wait for a result. */
  answerResults(answer: WaitAnswer): void {
    this.#answerThose(answer, ({ request }) => request.forResult)
  }

  /** Answers the polls that came since the last check. Returns whether any of them waits for the lock. */
  answerNew(answer: WaitAnswer): boolean {
    return this.#answerThose(answer, ({ isParked }) => !isParked).some(({ request }) => !request.forResult)
  }

  /** Answers all polls immediately. */
  dismiss(answer: WaitAnswer): void {
    for (const poll of [...this.#polls]) this.#leave(poll, answer)
    while (this.#tellOne());
  }

  #answerThose(answer: WaitAnswer, isMeant: (poll: Poll) => boolean): readonly Poll[] {
    const meant: Poll[] = []
    for (const poll of this.#polls) if (isMeant(poll)) meant.push(poll)
    this.#answer(meant, answer)
    return meant
  }

  /** Removes these polls. Sending their answers shares the event loop with other keys. */
  #answer(polls: readonly Poll[], answer: WaitAnswer): void {
    if (polls.length === 0) return
    for (const poll of polls) {
      this.#remove(poll)
      poll.answer = answer
    }
    this.#answered = [...(this.#answered ?? []), ...polls]
    this.#turns.add(this.#tellOne)
    this.#onLeave()
  }

  readonly #tellOne = (): boolean => {
    const poll = this.#answered?.shift()
    if (this.#answered?.length === 0) this.#answered = undefined
    if (poll?.answer) poll.resolve(poll.answer)
    return this.#answered !== undefined
  }

  readonly #leave = (poll: Poll, answer: WaitAnswer): void => {
    if (!this.#remove(poll)) return
    poll.resolve(answer)
    this.#onLeave()
  }

  #remove(poll: Poll): boolean {
    if (!this.#polls.delete(poll)) return false
    poll.stopTimer?.()
    poll.stopTimer = undefined
    poll.request.gone.removeEventListener('abort', poll)
    return true
  }
}
