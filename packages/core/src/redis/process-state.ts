import type { LeaseStore } from '../store/lease-store.ts'
import type { RedisTransport } from './redis-transport.ts'
import type { ConfirmedRun } from './replica-wait.ts'

/*
 * State of which a process must have only one copy. A process that imports this package in one place and requires it in
 * another runs two builds of it. On servers, `#process-state` is the same file for both.
 */

/**
 * Transports that reach a cluster node although they seem to reach a single server: a plain client of a managed Redis,
 * or HTTP, which hides what is behind it. Each has had a command over two slots refused, and the next one would be
 * refused too.
 */
export const splitTransports: WeakSet<RedisTransport> = new WeakSet()

/**
 * What a Redis store is made of, besides its prefix. `memory` is the least time it keeps a fence record, in ms, as
 * scripts take it.
 */
export type Makings = readonly [transport: RedisTransport, memory: string]

/** What each Redis store is made of, for ports that are imported separately. */
export const makings: WeakMap<LeaseStore, Makings> = new WeakMap()

/** How transports that can wait for replicas run such calls. */
export const replicaWaits: WeakMap<RedisTransport, ConfirmedRun> = new WeakMap()

/** Orders the guarded writes of this process that have the same fence. */
export const guardedWrites: {
  /** Identifies this process. Drawn by the first write, because Workers forbid randomness at module scope. */
  writer?: string
  turns: number
} = { turns: 0 }

/** How to send a command that is not a script, for each transport that offers it. */
export const plainCommands: WeakMap<RedisTransport, unknown> = new WeakMap()
