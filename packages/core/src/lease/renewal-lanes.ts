import type { Context } from '../context.ts'
import { commandDeadlineMs } from '../store/ask.ts'
import { chunkSize, mostInFlight } from './figures.ts'
import type { Grant } from './grant.ts'

/** Renews grants with one command, the shortest ttl first. Settles when they are through; never rejects. */
export type RenewBatch = (grants: readonly Grant[]) => Promise<void>

/**
 * Parts what is due into commands. Leases of one node share a lane, and those that it left unanswered have one of their own:
 * what has fallen silent holds up nobody who is well.
 */
export function renewalLanes(
  context: Context,
  renew: RenewBatch,
  isWatched: (grant: Grant) => boolean,
): (due: readonly Grant[]) => void {
  const lanes = new Map<string, RenewalLane>()

  function lane(name: string): RenewalLane {
    const known = lanes.get(name)
    if (known) return known
    const attemptMs = ({ ttlMs }: Grant): number => commandDeadlineMs(context, ttlMs)
    const made = new RenewalLane(renew, isWatched, attemptMs, () => lanes.delete(name))
    lanes.set(name, made)
    return made
  }

  return (due) => {
    const used = new Set<RenewalLane>()
    for (const grant of due) {
      const its = lane(`${grant.unanswered > 0} ${context.store.nodeOf(grant.key)}`)
      its.add(grant)
      used.add(its)
    }
    for (const each of used) each.send()
  }
}

/** Renews the grants of one kind of fate, such as those of one node: a batch at a time, a few batches at once. */
class RenewalLane {
  readonly #renew: RenewBatch
  readonly #isWatched: (grant: Grant) => boolean
  readonly #attemptMs: (grant: Grant) => number
  readonly #onIdle: () => void
  /** Waiting for a free place, the shortest ttl first. */
  #queue: Grant[] = []
  #inFlight = 0

  /**
   * @param isWatched whether a grant is still to be renewed
   * @param attemptMs how long an attempt to renew a grant may stay unanswered, in milliseconds
   * @param onIdle    called when nothing goes on here any more
   */
  constructor(
    renew: RenewBatch,
    isWatched: (grant: Grant) => boolean,
    attemptMs: (grant: Grant) => number,
    onIdle: () => void,
  ) {
    this.#renew = renew
    this.#isWatched = isWatched
    this.#attemptMs = attemptMs
    this.#onIdle = onIdle
  }

  /** To be renewed with the next `send`. */
  add(grant: Grant): void {
    this.#queue.push(grant)
  }

  send(): void {
    // Some may have ended while they waited.
    this.#queue = this.#queue.filter(this.#isWatched).sort((a, b) => a.ttlMs - b.ttlMs)
    while (this.#inFlight < mostInFlight && this.#queue.length > 0) {
      this.#inFlight++
      void this.#renew(this.#nextChunk()).then(() => {
        this.#inFlight--
        this.send()
      })
    }
    if (this.#inFlight === 0) this.#onIdle()
  }

  /**
   * Takes what may share a command off the queue, the most urgent first. Those of a command have the time for an answer that
   * the shortest ttl of them allows, so the longest may be of twice that and no more.
   */
  #nextChunk(): readonly Grant[] {
    const [first] = this.#queue
    const chunk = this.#queue.slice(0, chunkSize)
    const foreign = chunk.findIndex((grant) => first && this.#attemptMs(grant) > 2 * this.#attemptMs(first))
    return this.#queue.splice(0, foreign < 0 ? chunkSize : foreign)
  }
}
