import { Span, type SpanListener } from './span.ts'

/** How long the caller of a store or server waits. Every call carries one. */
export interface CallDeadline {
  /** How long the caller waits for the answer, in milliseconds from the start of the call. */
  readonly withinMs: number
  /** Whether the caller has stopped waiting. A request that was not sent by then must not be sent later. */
  readonly isOver: boolean
  /**
   * Calls back once: when the caller stops waiting, or at once if it has. The callback runs synchronously in the
   * caller, so it must not throw. Returns a function that withdraws it.
   */
  onOver(callback: () => void): () => void
  /** Like `onOver`, for an object: a call that every lock makes needs no closures then. */
  add(listener: SpanListener): void
  /** Withdraws a listener. */
  remove(listener: SpanListener): void
  /**
   * Aborted when the caller stops waiting. It is made on first read, because a signal costs more than the rest of a
   * call: read it only for a client that needs one.
   */
  readonly signal: AbortSignal
}

/** A call as its caller sees it: the caller can end it. */
export class Call extends Span implements CallDeadline {
  declare withinMs: number

  constructor(withinMs: number) {
    super()
    this.withinMs = withinMs
  }
}
