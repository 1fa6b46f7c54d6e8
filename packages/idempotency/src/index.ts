/** `@leasehold/idempotency`: the `Idempotency-Key` header for handlers of web requests. */

export type { Ending, Endings } from './endings.ts'
export type {
  IdempotencyEvent,
  InDoubtEvent,
  MisconfiguredEvent,
  NotKeptEvent,
  OvertakenEvent,
  UnavailableEvent,
  UnrecordedEvent,
} from './events.ts'
export { type IdempotentCall, type IdempotentHandle, idempotent } from './idempotent.ts'
export type { DoubtPolicy, InDoubt } from './in-doubt.ts'
export { replayedHeaders } from './kept-headers.ts'
export { checkIdempotentOptions, type IdempotentOptions } from './options.ts'
export type { ProblemType } from './problem.ts'
export type { IdempotentWork, OngoingRun, WorkContext } from './work.ts'
