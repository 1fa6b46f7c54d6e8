interface About {
  /** The record's name, made of scope and key. */
  readonly key: string
  /** The request's method and path, without its query. */
  readonly request: string
}

/** A key was in doubt, and this is what was decided. */
export interface InDoubtEvent extends About {
  readonly type: 'in-doubt'
  /** `response`: the policy returned an answer of its own. */
  readonly decision: 'reject' | 'rerun' | 'response'
  /** The fence of the run that left the key in doubt. */
  readonly fence: number
}

/** The work has ended, but the store did not confirm its record. */
export interface UnrecordedEvent extends About {
  readonly type: 'unrecorded'
  /** `unknown`: the store gave no answer, and the key stays guarded. `gone`: it has forgotten the record. */
  readonly outcome: 'unknown' | 'gone'
  /** The error behind it, if there is one. */
  readonly cause: unknown
}

/** The work has ended after another run had claimed its key. Its own answer is dropped. */
export interface OvertakenEvent extends About {
  readonly type: 'overtaken'
  /** The fence of the run that ended late. */
  readonly fence: number
  /** The fence of its successor. */
  readonly by: number
}

/** An answer was recorded without its content, so retries will get a 410. */
export interface NotKeptEvent extends About {
  readonly type: 'not-kept'
  readonly status: number
  /** `too-large`; `too-slow`: its body was not read to its end in time; `store`: the store has no room for it. */
  readonly reason: 'too-large' | 'too-slow' | 'store'
}

/**
 * The store did not answer, the locker is closed, or its budget is used up. The work has not begun, and the client was
 * told to come back.
 */
export interface UnavailableEvent extends About {
  readonly type: 'unavailable'
  readonly cause: unknown
}

/**
 * A mistake on the server. Either the request could not be served, such as for an empty scope, and the client got a
 * 500; or the function `endings.thrown` threw, and the key is in doubt.
 */
export interface MisconfiguredEvent {
  readonly type: 'misconfigured'
  readonly request: string
  readonly cause: unknown
}

/** Something that needs attention. A listener's errors are ignored. */
export type IdempotencyEvent =
  | InDoubtEvent
  | UnrecordedEvent
  | OvertakenEvent
  | NotKeptEvent
  | UnavailableEvent
  | MisconfiguredEvent
