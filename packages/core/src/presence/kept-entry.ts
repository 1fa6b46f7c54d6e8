import type { RoomEntry } from '../store/presence.ts'

/** A room that was looked at; null if it is as it was with the version that is known. */
export type RoomView = { readonly version: string; readonly entries: readonly RoomEntry[] } | null

/** An entry as whoever keeps it elsewhere knows it, such as a Durable Object between two alarms. */
export interface KeptEntry {
  readonly room: string
  /** The lease's token. */
  readonly token: string
}

/** What became of a renewal. `unknown`: no answer came, and the entry may have been renewed. */
export type KeptOutcome = 'renewed' | 'gone' | 'superseded' | 'unknown'
