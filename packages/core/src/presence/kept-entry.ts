import type { RoomEntry } from '../store/presence.ts'

/** A room as it was seen; null if it has not changed since the known version. */
export type RoomView = { readonly version: string; readonly entries: readonly RoomEntry[] } | null

/** An entry as known to whatever keeps it elsewhere, such as a Durable Object between two alarms. */
export interface KeptEntry {
  readonly room: string
  /** The lease's token. */
  readonly token: string
}

/** The outcome of a renewal. `unknown`: no answer came, and the entry may have been renewed. */
export type KeptOutcome = 'renewed' | 'gone' | 'superseded' | 'unknown'
