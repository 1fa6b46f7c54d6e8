import type { Context } from '../context.ts'
import { LeaseLostError } from '../errors.ts'
import type { Lease } from '../lease/lease.ts'
import { jitter } from '../timing/backoff.ts'
import { settledWithin, sleep } from '../timing/deadline.ts'
import type { ElectionEvent } from './election-events.ts'
import { type Leadership, Term } from './term.ts'

/** What a leader does. It goes on for as long as the candidate leads, and stops when its signal fires. */
export type LeaderWork = (leadership: Leadership) => unknown

/** Stands for election, and leads when elected; created by `lead`. Disposing it stops it. */
export interface Candidate extends AsyncDisposable {
  readonly key: string
  /** The term in which it leads now; undefined while it does not, and from the moment its work is told to stop. */
  readonly fence: number | undefined
  /**
   * Resolves when it no longer stands for election: after `stop`, after its `signal`, when its work has returned by
   * itself, and when its locker was closed. Rejects with the error of its work, or of a store that refuses for good.
   * Handle that: an unhandled rejection ends a Node process. `stop` returns the same promise, so it need not be handled
   * twice.
   */
  readonly ended: Promise<void>
  /**
   * Ends its term, if it leads: tells the work to stop, and gives the lock back when it has stopped, or after
   * `stopWithin`. Then it stands for election again, after a pause that lets others come first. Resolves when the lock
   * has been given back.
   *
   * Do not await it in the work: it waits for the work until `stopWithin` is over, which is reported as `overrun`. Work
   * that wants to resign calls the `resign` of its leadership, and returns.
   */
  resign(): Promise<void>
  /**
   * Ends its term, if it leads, and stops standing for election. Returns `ended`. Do not await it in the work, for the
   * same reason: work that wants to stop returns.
   */
  stop(): Promise<void>
}

/** How a candidate stands for election. */
export interface Standing {
  readonly context: Context
  readonly key: string
  readonly work: LeaderWork
  /** Acquires the key's lock, with no limit to the wait. */
  readonly acquire: (signal: AbortSignal) => Promise<Lease>
  readonly stopWithinMs: number
  readonly pauseMs: number
  readonly tell: (event: ElectionEvent) => void
}

type Ending = { readonly type: 'returned' } | { readonly type: 'threw'; readonly error: unknown }

/**
 * A candidate at work.
 *
 * States: *campaigning* → *leading* → *stopping*, for `stopWithin` at most → *pausing* → *campaigning*; or *ended*. It
 * never campaigns while work of an earlier term still runs, so the work of one candidate never runs twice at once.
 */
export class StandingCandidate implements Candidate {
  readonly key: string
  readonly ended: Promise<void>
  readonly #standing: Standing
  readonly #stop = new AbortController()
  #term: Term | undefined
  /** Resolves when the lock of the current term has been given back. */
  #termOver: Promise<unknown> = Promise.resolve()

  constructor(standing: Standing, signal: AbortSignal | undefined) {
    this.key = standing.key
    this.#standing = standing
    const onAbort = (): void => this.#end()
    if (signal?.aborted) onAbort()
    signal?.addEventListener('abort', onAbort)
    this.ended = this.#run().finally(() => signal?.removeEventListener('abort', onAbort))
  }

  get fence(): number | undefined {
    return this.#term?.signal.aborted ? undefined : this.#term?.leadership.fence
  }

  async resign(): Promise<void> {
    this.#term?.end()
    await this.#termOver
  }

  stop(): Promise<void> {
    this.#end()
    return this.ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #end(): void {
    this.#stop.abort()
    this.#term?.end()
  }

  async #run(): Promise<void> {
    const { key, context, pauseMs, tell } = this.#standing
    const { signal } = this.#stop
    while (!signal.aborted) {
      tell({ type: 'campaigning', key })
      const lease = await this.#elected()
      if (lease && (await this.#lead(lease))) return
      try {
        await this.#whileStanding((over) => sleep(context.clock, pauseMs * (0.5 + jitter()), over))
      } catch {
        return
      }
    }
  }

  /**
   * Waits with a signal that is aborted when the candidate is stopped or its locker closed.
   *
   * @throws if either has happened already
   */
  async #whileStanding<T>(wait: (over: AbortSignal) => Promise<T>): Promise<T> {
    const { work } = this.#standing.context
    const span = work.begin(this.#stop.signal)
    try {
      return await wait(span.signal)
    } finally {
      work.end(span)
    }
  }

  /**
   * Waits until it is elected. Resolves with undefined if that failed for now.
   *
   * @throws the error of a store that refuses for good
   */
  async #elected(): Promise<Lease | undefined> {
    try {
      return await this.#standing.acquire(this.#stop.signal)
    } catch (error) {
      const { code, refused } = Object(error) as { readonly code?: string; readonly refused?: boolean }
      const passes = this.#stop.signal.aborted || code === 'CLOSED' || code === 'ACQUIRE_TIMEOUT'
      if (passes || (code === 'STORE_UNAVAILABLE' && !refused)) return undefined
      throw error
    }
  }

  /**
   * Leads for one term. Resolves with whether the candidate has done what it stood for.
   *
   * @throws the error of its work, unless the work had been told to stop
   */
  async #lead(lease: Lease): Promise<boolean> {
    const { context, key, work, stopWithinMs, tell } = this.#standing
    const { fence } = lease
    const term = new Term(context.clock, lease, stopWithinMs)
    this.#term = term
    tell({ type: 'elected', key, fence })
    if (this.#stop.signal.aborted) term.end()
    // Work that begins with an aborted signal might never notice.
    const running = term.signal.aborted ? Promise.resolve<Ending>({ type: 'returned' }) : run(work, term)
    const serving = this.#serve(term, lease, running)
    this.#termOver = serving
    const { wasTold, overran } = await serving
    this.#term = undefined
    // A candidate that was stopped, or whose locker was closed, begins nothing more, and need not wait for work that
    // goes on.
    const ending = await (overran
      ? this.#whileStanding((over) => settledOr(over, running)).catch(() => undefined)
      : running)
    if (ending?.type !== 'threw') return !wasTold
    if (!wasTold) throw ending.error
    if (!comesOf(term.signal, ending.error)) tell({ type: 'failed', key, fence, cause: ending.error })
    return false
  }

  /** Keeps the lock until the work has settled, or was told to stop and did not in time. */
  async #serve(
    term: Term,
    lease: Lease,
    running: Promise<Ending>,
  ): Promise<{ readonly wasTold: boolean; readonly overran: boolean }> {
    const { context, stopWithinMs, tell } = this.#standing
    const { key, fence } = term.leadership
    let overran = true
    const over = running.then(() => {
      overran = false
    })
    await Promise.race([over, term.told])
    const { aborted: wasTold, reason } = term.signal
    const isLost = reason instanceof LeaseLostError
    if (isLost) tell({ type: 'lost', key, fence, reason: reason.reason, cause: reason.cause })
    if (wasTold) await settledWithin(context.clock, stopWithinMs, over)
    if (overran) tell({ type: 'overrun', key, fence })
    const stillRuns = overran
    term.end()
    const outcome = await lease.release()
    if (!isLost) tell({ type: 'resigned', key, fence, outcome })
    return { wasTold, overran: stillRuns }
  }
}

/** Waits for a promise. Resolves with undefined if the signal is aborted first. */
const settledOr = <T>(over: AbortSignal, promise: Promise<T>): Promise<T | undefined> =>
  Promise.race([promise, new Promise<undefined>((resolve) => over.addEventListener('abort', () => resolve(undefined)))])

/** What a signal stops rejects with its reason or, like Node's timers, with an error whose cause is that reason. */
const comesOf = ({ reason }: AbortSignal, error: unknown): boolean => error === reason || Object(error).cause === reason

/** Runs the work, and resolves with how it ended. */
async function run(work: LeaderWork, term: Term): Promise<Ending> {
  try {
    await work(term.leadership)
    return { type: 'returned' }
  } catch (error) {
    return { type: 'threw', error }
  }
}
