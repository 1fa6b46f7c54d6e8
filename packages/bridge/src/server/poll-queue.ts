import type { Clock } from '@leasehold/core'

export interface WaitRequest {
  /** The cursor that the refused acquire returned, or that of the last poll. */
  readonly cursor: string
  readonly timeoutMs: number
  /** Waits for a result rather than for the lock, so that there is no reason to wake one only. */
  readonly forResult: boolean
  /** Aborted when the client has left. */
  readonly gone: AbortSignal
}

export type WaitAnswer =
  /** There is a reason to try again. */
  | { readonly type: 'changed' }
  /** The time is up; the cursor is that of the present holder as far as is known. */
  | { readonly type: 'unchanged'; readonly cursor: string }
  /** The bridge cannot tell. */
  | { readonly type: 'unavailable' }
  | { readonly type: 'bad-key' }
  /** The client has left. */
  | { readonly type: 'gone' }

interface Poll {
  readonly request: WaitRequest
  readonly settle: (answer: WaitAnswer) => void
  cursor: string
  /** It has been seen, or heard, since it came that the lock is not simply free. */
  isParked: boolean
}

/** The long polls of one key, longest-waiting first. Each leaves by itself when its time is up or its client has left. */
export class PollQueue {
  readonly #clock: Clock
  readonly #onLeave: () => void
  readonly #polls = new Set<Poll>()

  /** @param onLeave called after each answer */
  constructor(clock: Clock, onLeave: () => void) {
    this.#clock = clock
    this.#onLeave = onLeave
  }

  get size(): number {
    return this.#polls.size
  }

  add(request: WaitRequest, isParked: boolean): Promise<WaitAnswer> {
    return new Promise((resolve) => {
      const leave = (): void => poll.settle({ type: 'gone' })
      const poll: Poll = {
        request,
        cursor: request.cursor,
        isParked,
        settle: (answer) => {
          if (!this.#polls.delete(poll)) return
          stopTimer()
          request.gone.removeEventListener('abort', leave)
          resolve(answer)
          this.#onLeave()
        },
      }
      const timeUp = (): void => poll.settle({ type: 'unchanged', cursor: poll.cursor })
      const stopTimer = this.#clock.schedule(timeUp, request.timeoutMs, 'background')
      this.#polls.add(poll)
      request.gone.addEventListener('abort', leave)
      if (request.gone.aborted) leave()
    })
  }

  /** The lock is held, with this cursor. */
  park(cursor: string): void {
    for (const poll of this.#polls) {
      poll.cursor = cursor
      poll.isParked = true
    }
  }

  /** A release was heard: whoever waits now waits for their turn, though their first look be still to come. */
  lineUp(): void {
    for (const poll of this.#polls) poll.isParked = true
  }

  /** Answers the longest-waiting one that waits for the lock. */
  answerNext(answer: WaitAnswer): WaitRequest | undefined {
    for (const { request, settle } of this.#polls) {
      if (request.forResult) continue
      settle(answer)
      return request
    }
    return undefined
  }

  /** Answers those that wait for a result. */
  answerResults(answer: WaitAnswer): void {
    this.#answer(answer, ({ request }) => request.forResult)
  }

  /** Answers those that came since the last look; whether there were any that wait for the lock. */
  answerNew(answer: WaitAnswer): boolean {
    return this.#answer(answer, ({ isParked }) => !isParked).some(({ request }) => !request.forResult)
  }

  answerAll(answer: WaitAnswer): void {
    this.#answer(answer, () => true)
  }

  #answer(answer: WaitAnswer, isMeant: (poll: Poll) => boolean): readonly Poll[] {
    const meant = [...this.#polls].filter(isMeant)
    for (const { settle } of meant) settle(answer)
    return meant
  }
}
