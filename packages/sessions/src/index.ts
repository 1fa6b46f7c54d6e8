/** `@leasehold/sessions`: one connection per role, across many servers. */

export type { RoomEntry, TakeOver } from '@leasehold/core/presence'
export type { SessionEvent } from './events.ts'
export {
  type HibernatingSessions,
  hibernatingSessions,
  type KeptSession,
  type RenewedSession,
} from './hibernating.ts'
export type { Member } from './members.ts'
export type { EnterOptions, SessionsOptions } from './options.ts'
export type { Connection } from './own-sessions.ts'
export type { RoomEvent } from './room-events.ts'
export type { Session, SessionEnd } from './session.ts'
export { type Entered, type Sessions, sessions } from './sessions.ts'
export type { SocketLike } from './socket.ts'
