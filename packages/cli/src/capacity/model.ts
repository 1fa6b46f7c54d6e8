import { chunkSize, mostHandOffs } from '@leasehold/core/adapter'

/*
 * The cost of a number of locks, by formulas that a test checks against a real Redis. A command is a script call:
 * what the script calls inside counts in the server's time, not here.
 */

/** The load of one process. */
export interface ProcessLoad {
  /** Locks that it acquires and releases per second, each on a key that nobody else wants. */
  readonly locksPerSecond: number
  /** How many of these share a command, on average: 1 if they come one at a time. */
  readonly keysPerCommand: number
  /** How many leases it holds at once for longer than a third of their ttl, and that ttl. */
  readonly held: number
  readonly ttlMs: number
  /** How many keys it waits for at once, and how many of its calls wait for them. */
  readonly awaitedKeys: number
  readonly waiters: number
  /** The time between a waiting process's checks of a key: `recheck`. */
  readonly recheckMs: number
  /** Hand-offs per second between its own calls. */
  readonly handOffsPerSecond: number
}

/** Bytes of heap: for a held lease with its watchdog; for a waiting call with the promise that its caller awaits. */
export const heldBytes = 920
export const waiterBytes = 1_300
/**
 * Bytes in Redis, with a key of a dozen characters and a holder's name of 25: for a lock that is held, and for the
 * fence record that stays beside it and after it. A longer key costs each of them its length.
 */
export const redisHeldBytes = 160
export const redisRecordBytes = 245

/** One to acquire a lock, one to release it. */
const commandsPerLock = 2
/**
 * A lease is renewed at each third of its ttl. Some leases are renewed a little early, to share a command with others.
 */
const renewalsPerTtl = 3
const earlyRenewals = 1.1
/** The release that ends a run of hand-offs also brings the grant that begins the next. */
const commandsPerRun = 1

/** Commands per second that one process sends. */
export function commandsPerSecond(load: ProcessLoad): number {
  const { locksPerSecond, keysPerCommand, held, ttlMs, awaitedKeys, recheckMs, handOffsPerSecond } = load
  const taking = (commandsPerLock * locksPerSecond) / keysPerCommand
  const renewing = held === 0 ? 0 : (Math.ceil((earlyRenewals * held) / chunkSize) * renewalsPerTtl * 1_000) / ttlMs
  const waiting = (awaitedKeys * 1_000) / recheckMs
  const handingOff = (commandsPerRun * handOffsPerSecond) / (mostHandOffs + 1)
  return taking + renewing + waiting + handingOff
}

/** Heap bytes of one process, besides what its caller needs. */
export const heapBytes = ({ held, waiters }: ProcessLoad): number => held * heldBytes + waiters * waiterBytes

/** @param keys how many distinct keys are acquired in the time that a fence record is kept: 10 minutes, or the ttl */
export const redisBytes = (keys: number, heldAtOnce: number): number =>
  Math.max(keys, heldAtOnce) * redisRecordBytes + heldAtOnce * redisHeldBytes

/** Commands for a million locks that are held for `heldMs` each, one at a time. */
export const commandsPerMillion = (heldMs: number, ttlMs: number): number =>
  1e6 * (commandsPerLock + Math.floor((heldMs * renewalsPerTtl) / ttlMs))

/** The price of those commands, given the price of 100,000. */
export const pricePerMillion = (heldMs: number, ttlMs: number, per100k: number): number =>
  (commandsPerMillion(heldMs, ttlMs) * per100k) / 1e5

/** A process that does nothing: the base to describe another by what differs. */
export const quiet: ProcessLoad = {
  locksPerSecond: 0,
  keysPerCommand: 1,
  held: 0,
  ttlMs: 10_000,
  awaitedKeys: 0,
  waiters: 0,
  recheckMs: 1_000,
  handOffsPerSecond: 0,
}
