import { ask } from './ask.ts'
import type { Context } from './context.ts'
import type { Grant } from './grant.ts'
import type { RenewOutcome, Unknown } from './lease-store.ts'
import { deadline } from './timing/deadline.ts'
import { instant } from './timing/validity.ts'

/** Leases renewed by one command: a script over more would keep Redis from others for too long. */
const chunkSize = 100
/** Commands under way at once. */
const mostInFlight = 4

/** Whose grants a lane renews. */
export interface LaneOwner {
  /** Whether a grant is still to be renewed. */
  isWanted(grant: Grant): boolean
  /** How long an attempt may stay unanswered, in milliseconds. */
  attemptMs(grant: Grant): number
  /** What a batch came to: an outcome for each of its grants, in order. */
  onOutcomes(grants: readonly Grant[], outcomes: readonly RenewOutcome[]): void
  /** Nothing goes on here any more. */
  onIdle(): void
}

/** Renews the grants of one kind of fate, such as those of one node: a batch at a time, a few batches at once. */
export class RenewalLane {
  readonly #context: Context
  readonly #owner: LaneOwner
  /** Waiting for a free place, the shortest ttl first. */
  readonly #queue: Grant[] = []
  #inFlight = 0

  constructor(context: Context, owner: LaneOwner) {
    this.#context = context
    this.#owner = owner
  }

  /** To be renewed with the next `send`. */
  add(grant: Grant): void {
    this.#queue.push(grant)
  }

  send(): void {
    this.#queue.sort((a, b) => a.ttlMs - b.ttlMs)
    while (this.#inFlight < mostInFlight && this.#queue.length > 0) {
      const chunk = this.#nextChunk()
      if (chunk.length > 0) void this.#renew(chunk)
    }
    if (this.#inFlight === 0) this.#owner.onIdle()
  }

  /**
   * Takes what may share a command off the queue, the most urgent first. Those of a command have the time for an answer that
   * the shortest ttl of them allows, so the longest may be of twice that and no more.
   */
  #nextChunk(): readonly Grant[] {
    const owner = this.#owner
    const [first] = this.#queue
    const chunk = this.#queue.slice(0, chunkSize)
    const foreign = chunk.findIndex((grant) => first && owner.attemptMs(grant) > 2 * owner.attemptMs(first))
    return this.#queue.splice(0, foreign < 0 ? chunkSize : foreign).filter((grant) => owner.isWanted(grant))
  }

  async #renew(chunk: readonly Grant[]): Promise<void> {
    const { store, clock } = this.#context
    this.#inFlight++
    const requests = chunk.map(({ key, token, ttlMs }) => ({ key, token, ttlMs }))
    const limitMs = Math.min(...chunk.map((grant) => this.#owner.attemptMs(grant)))
    const sentAt = instant(clock)
    const take = (outcomes: readonly RenewOutcome[]): void => {
      for (const [index, grant] of chunk.entries()) {
        // What was asked for: the grant may have a holder with another ttl by now.
        grant.take(outcomes[index], { sentAt, ttlMs: requests[index]?.ttlMs ?? 0 })
      }
    }
    const send = async (signal: AbortSignal): Promise<Batch> => ({
      type: 'batch',
      outcomes: await store.renew(requests, signal),
    })
    const answersOf = (outcome: Batch | Unknown): readonly RenewOutcome[] =>
      outcome.type === 'batch' ? outcome.outcomes : chunk.map(() => outcome)
    const options = {
      // It is the schedule that repeats it, so an attempt has the time of one of two.
      once: true,
      leftMs: deadline(clock, limitMs),
      onLate: (outcome: Batch | Unknown) => take(answersOf(outcome)),
    }
    const { outcome } = await ask(this.#context, Infinity, send, options).catch(failed)
    const outcomes = answersOf(outcome)
    this.#inFlight--
    take(outcomes)
    this.#owner.onOutcomes(chunk, outcomes)
    this.send()
  }
}

/** What a command came to. */
interface Batch {
  readonly type: 'batch'
  readonly outcomes: readonly RenewOutcome[]
}

/** A store may not reject here; whatever one does, its leases are renewed for as long as they are valid. */
const failed = (cause: unknown): { readonly outcome: Unknown } => ({
  outcome: { type: 'unknown', executed: 'unknown', cause },
})
