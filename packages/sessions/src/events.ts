import type { LossReason } from '@leasehold/core'
import type { Session } from './session.ts'

/** What becomes of the sessions of this server: each enters once, and ends once. */
export type SessionEvent =
  | { readonly type: 'entered'; readonly session: Session }
  /** It left, or this server stops. */
  | { readonly type: 'left'; readonly session: Session }
  /** Nothing was heard of its client for too long. Its entry is given back. */
  | { readonly type: 'silent'; readonly session: Session }
  /** Another session has its place: the same session on a new connection, or somebody who took the role over. */
  | { readonly type: 'taken-over'; readonly session: Session }
  /** Its entry ended against its will, such as when the store could not be reached or this process was paused. */
  | { readonly type: 'lost'; readonly session: Session; readonly reason: LossReason }
