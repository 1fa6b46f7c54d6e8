import { chunkSize, mostHandOffs } from '@leasehold/core/adapter'

/*
 * What a number of locks costs, by formulas that a test holds against a real Redis. A command is a script call:
 * what a script calls inside is in the server's time, not in this count.
 */

/** What one process does. */
export interface ProcessLoad {
  /** Locks that it takes and gives back a second, each on a key that nobody else wants. */
  readonly locksPerSecond: number
  /** How many of these share a command, on average: 1 if they come one at a time. */
  readonly keysPerCommand: number
  /** Leases that it holds at once for longer than a third of their ttl, and their ttl. */
  readonly held: number
  readonly ttlMs: number
  /** Keys that it waits for at once, and how many of its calls wait for them. */
  readonly awaitedKeys: number
  readonly waiters: number
  /** How often a waiting process checks a key: `recheck`. */
  readonly recheckMs: number
  /** Hand-offs a second between its own calls. */
  readonly handOffsPerSecond: number
}

/** Bytes of heap: of a lease that is held, with what renews it; of a call that waits, with the promise that its caller awaits. */
export const heldBytes = 920
export const waiterBytes = 1_300
/**
 * Bytes of Redis, with a key of a dozen characters and a holder's name of 25: of a lock that is held, and of the fence record that
 * stays beside it and after it. A longer key costs each of them its length.
 */
export const redisHeldBytes = 160
export const redisRecordBytes = 245

/** To take a lock, and to give it back. */
const commandsPerLock = 2
/** A lease is renewed at each third of its ttl, and some of them a little early, to go with others. */
const renewalsPerTtl = 3
const earlyRenewals = 1.1
/** The release that ends a run of hand-offs brings the grant that the next begins with. */
const commandsPerRun = 1

/** Commands a second that one process sends. */
export function commandsPerSecond(load: ProcessLoad): number {
  const { locksPerSecond, keysPerCommand, held, ttlMs, awaitedKeys, recheckMs, handOffsPerSecond } = load
  const taking = (commandsPerLock * locksPerSecond) / keysPerCommand
  const renewing = held === 0 ? 0 : (Math.ceil((earlyRenewals * held) / chunkSize) * renewalsPerTtl * 1_000) / ttlMs
  const waiting = (awaitedKeys * 1_000) / recheckMs
  const handingOff = (commandsPerRun * handOffsPerSecond) / (mostHandOffs + 1)
  return taking + renewing + waiting + handingOff
}

/** Of one process, beside what its caller needs. */
export const heapBytes = ({ held, waiters }: ProcessLoad): number => held * heldBytes + waiters * waiterBytes

/** @param keys how many distinct keys are taken within the time for which a fence record is kept: 10 minutes, or the ttl */
export const redisBytes = (keys: number, heldAtOnce: number): number =>
  Math.max(keys, heldAtOnce) * redisRecordBytes + heldAtOnce * redisHeldBytes

/** For a million locks that are held for so long, one at a time. */
export const commandsPerMillion = (heldMs: number, ttlMs: number): number =>
  1e6 * (commandsPerLock + Math.floor((heldMs * renewalsPerTtl) / ttlMs))

/** What these cost at a price for 100,000 commands. */
export const pricePerMillion = (heldMs: number, ttlMs: number, per100k: number): number =>
  (commandsPerMillion(heldMs, ttlMs) * per100k) / 1e5

/** A process that does nothing, to say what another does beside. */
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
