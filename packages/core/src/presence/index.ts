/**
 * `@leasehold/core/presence`: who is in a room, and in which role, by leases. `@leasehold/sessions` uses it to keep
 * WebSocket sessions.
 */

export type {
  EnterOutcome,
  EnterRequest,
  EntryRequest,
  LeaveRoomRequest,
  LookRoomOutcome,
  LookRoomRequest,
  PresenceStore,
  RoomEntry,
  TakeOver,
} from '../store/presence.ts'
export type { KeptEntry, KeptOutcome, RoomView } from './kept-entry.ts'
export { presenceOf } from './presence-of.ts'
export { type Entered, type EnterOptions, type Rooms, rooms } from './rooms.ts'
