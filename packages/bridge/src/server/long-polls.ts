import type { Context } from 'hono'
import type { CheckedOptions } from './bridge-options.ts'
import type { WaitAnswer } from './poll-queue.ts'
import { noStore, ProblemError } from './problem.ts'
import type { ReleaseWatch } from './release-watch.ts'
import type { WaitQuery } from './wait-query.ts'

/** The open long polls, and how to answer one. */
export class LongPolls {
  readonly #options: Pick<CheckedOptions, 'onEvent'>
  readonly #watch: Pick<ReleaseWatch, 'listenFor' | 'places'>
  #open = 0

  constructor(options: Pick<CheckedOptions, 'onEvent'>, watch: Pick<ReleaseWatch, 'listenFor' | 'places'>) {
    this.#options = options
    this.#watch = watch
  }

  /** Answers when there is something to report, or the timeout has passed. @throws ProblemError */
  async answer(c: Context, { key, waiter, ...query }: WaitQuery): Promise<Response> {
    const { onEvent } = this.#options
    const gone = c.req.raw.signal
    const watched = await this.#watch.listenFor(gone)
    onEvent({ type: 'waits', open: ++this.#open })
    let answer = waiter && (await this.#watch.places?.wait(key, { ...query, waiter, gone }))
    if (answer && answer.type !== 'unkept') c.header('leasehold-kept', '1')
    else answer = await watched(key).wait({ ...query, gone })
    onEvent({ type: 'waits', open: --this.#open })
    return this.#told(c, answer)
  }

  #told(c: Context, answer: WaitAnswer): Response {
    switch (answer.type) {
      case 'changed':
        this.#options.onEvent({ type: 'wake-up' })
        return c.json({ changed: true }, 200, noStore)
      case 'unchanged':
        return c.body(null, 204, { ...noStore, 'leasehold-cursor': answer.cursor })
      case 'bad-key':
        throw new ProblemError(400, 'There can be no lock with this key')
      default:
        // Also for a client that has left, which will not see it.
        throw new ProblemError(503, 'The bridge cannot tell now; check for yourself and come back')
    }
  }
}
