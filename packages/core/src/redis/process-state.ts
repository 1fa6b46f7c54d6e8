import type { LeaseStore } from '../store/lease-store.ts'
import type { RedisTransport } from './redis-transport.ts'
import type { ConfirmedRun } from './replica-wait.ts'

/*
 * State that a process must have only once. A process that imports this package in one place and requires it in another runs
 * two builds of it. On servers `#process-state` is the same file for both.
 */

/**
 * Transports that reach a node of a cluster although they seem to reach a single server: a plain client of a managed Redis, or
 * HTTP, which hides what is behind it. Each of them has refused a command over two slots, and would refuse the next one too.
 */
export const splitTransports: WeakSet<RedisTransport> = new WeakSet()

/** What a Redis store is made of, besides its prefix. `memory` is how long it keeps a fence record at least, as scripts take it. */
export type Makings = readonly [transport: RedisTransport, memory: string]

/** What each Redis store is made of, for ports that are imported beside it. */
export const makings: WeakMap<LeaseStore, Makings> = new WeakMap()

/** How those transports run calls that can wait for replicas. */
export const replicaWaits: WeakMap<RedisTransport, ConfirmedRun> = new WeakMap()

/** Orders the guarded writes of this process that have the same fence. */
export const guardedWrites: {
  /** Identifies this process. Drawn by the first write, because Workers forbid randomness at module scope. */
  writer?: string
  turns: number
} = { turns: 0 }

/** How to send a command that is no script, where a transport offers that. */
export const plainCommands: WeakMap<RedisTransport, unknown> = new WeakMap()
