import type { LossReason } from '@leasehold/core'
import type { Session } from './session.ts'

/** The events of this server's sessions: each enters once, and ends once. */
export type SessionEvent =
  | { readonly type: 'entered'; readonly session: Session }
  /** It left, or this server is stopping. */
  | { readonly type: 'left'; readonly session: Session }
  /** Nothing was heard from its client for too long. Its entry is released. */
  | { readonly type: 'silent'; readonly session: Session }
  /** Another session took its place: the same session on a new connection, or somebody who took the role over. */
  | { readonly type: 'taken-over'; readonly session: Session }
  /** Its entry ended involuntarily, such as when the store could not be reached or this process was paused. */
  | { readonly type: 'lost'; readonly session: Session; readonly reason: LossReason }
