import type { Context } from '../context.ts'
import { commandDeadlineMs } from '../store/question.ts'
import { chunkSize, mostInFlight } from './figures.ts'
import type { Grant } from './grant.ts'

/** Renews grants with one command, the shortest ttl first. Settles when the command has ended; never rejects. */
export type RenewBatch = (grants: readonly Grant[]) => Promise<void>

/**
 * Splits the grants that are due into commands. The grants of one node share a lane. Grants whose last renewal the node
 * left unanswered have a lane of their own, so that a silent node holds up no renewal on a healthy one, even where the
 * store does not tell nodes apart.
 */
export function renewalLanes(
  context: Context,
  renew: RenewBatch,
  isWatched: (grant: Grant) => boolean,
): (due: readonly Grant[]) => void {
  const lanes = new Map<string, RenewalLane>()

  function laneFor(name: string): RenewalLane {
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
      const lane = laneFor(`${grant.unanswered > 0} ${context.store.nodeOf(grant.key)}`)
      lane.add(grant)
      used.add(lane)
    }
    for (const each of used) each.send()
  }
}

/** Renews grants that are likely to be answered alike, such as those of one node: in batches, a few batches at once. */
class RenewalLane {
  readonly #renew: RenewBatch
  readonly #isWatched: (grant: Grant) => boolean
  readonly #attemptMs: (grant: Grant) => number
  readonly #onIdle: () => void
  /** Grants that wait for a free place in flight, the shortest ttl first. */
  #queue: Grant[] = []
  #inFlight = 0

  /**
   * @param isWatched whether a grant is still to be renewed
   * @param attemptMs how long an attempt to renew a grant may stay unanswered, in milliseconds
   * @param onIdle    called when no renewal is in flight or queued
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

  /** Queues a grant for the next `send`. */
  add(grant: Grant): void {
    this.#queue.push(grant)
  }

  send(): void {
    // Some grants may have ended while they waited.
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
   * Takes from the queue the grants that may share a command, the most urgent first. The shortest ttl among them bounds
   * the time for the answer, so a grant that allows more than twice that time goes into another command.
   */
  #nextChunk(): readonly Grant[] {
    const [first] = this.#queue
    const chunk = this.#queue.slice(0, chunkSize)
    const tooPatient = chunk.findIndex((grant) => first && this.#attemptMs(grant) > 2 * this.#attemptMs(first))
    return this.#queue.splice(0, tooPatient < 0 ? chunkSize : tooPatient)
  }
}
