import { chunkSize } from '../../../packages/core/src/lease/figures.ts'
import { mostHandOffs } from '../../../packages/core/src/local-queue/figures.ts'

/*
 * What a number of locks costs, by formulas that `capacity.test.ts` holds against a real Redis. A command is a script call:
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

/** To take a lock, and to give it back. */
const commandsPerLock = 2
/** A lease is renewed at each third of its ttl, and some of them a little early, to go with others. */
const renewalsPerTtl = 3
const earlyRenewals = 1.1
/** The release that ends a run of hand-offs brings the grant that the next begins with. */
const commandsPerRun = 1

export function commandsPerSecond(load: ProcessLoad): number {
  const { locksPerSecond, keysPerCommand, held, ttlMs, awaitedKeys, recheckMs, handOffsPerSecond } = load
  const taking = (commandsPerLock * locksPerSecond) / keysPerCommand
  const renewing = held === 0 ? 0 : (Math.ceil((earlyRenewals * held) / chunkSize) * renewalsPerTtl * 1_000) / ttlMs
  const waiting = (awaitedKeys * 1_000) / recheckMs
  const handingOff = (commandsPerRun * handOffsPerSecond) / (mostHandOffs + 1)
  return taking + renewing + waiting + handingOff
}

const heapBytes = ({ held, waiters }: ProcessLoad): number => held * heldBytes + waiters * waiterBytes

/** For a million locks that are held for so long, one at a time. */
const commandsPerMillion = (heldMs: number, ttlMs: number): number =>
  1e6 * (commandsPerLock + Math.floor((heldMs * renewalsPerTtl) / ttlMs))

/** What these cost at a price for 100,000 commands. */
const pricePerMillion = (heldMs: number, ttlMs: number, per100k: number): number =>
  (commandsPerMillion(heldMs, ttlMs) * per100k) / 1e5

/** Of 100,000 commands. */
const examplePrice = 0.2

const quiet: ProcessLoad = {
  locksPerSecond: 0,
  keysPerCommand: 1,
  held: 0,
  ttlMs: 10_000,
  awaitedKeys: 0,
  waiters: 0,
  recheckMs: 1_000,
  handOffsPerSecond: 0,
}

/** What the page shows. Each line is for all of its processes together. */
const examples: readonly (readonly [what: string, processes: number, load: ProcessLoad])[] = [
  ['4 servers, 250 requests/s each, a lock a request', 4, { ...quiet, locksPerSecond: 250 }],
  ['the same, 8 keys in each command', 4, { ...quiet, locksPerSecond: 250, keysPerCommand: 8 }],
  ['10 servers that each hold 1,000 sessions for hours', 10, { ...quiet, held: 1_000, ttlMs: 30_000 }],
  ['20 job workers that wait for one leader', 20, { ...quiet, awaitedKeys: 1, waiters: 1 }],
  [
    '8 servers, 500 callers each behind one coupon, 200 served a second each',
    8,
    { ...quiet, awaitedKeys: 1, waiters: 500, handOffsPerSecond: 200 },
  ],
]

export const capacityRows: readonly (readonly string[])[] = examples.map(([what, processes, load]) => [
  what,
  (processes * commandsPerSecond(load)).toLocaleString('en', { maximumFractionDigits: 0 }),
  `${(heapBytes(load) / 1_000).toLocaleString('en', { maximumFractionDigits: 0 })} kB`,
])

/** Where commands are billed: calls on an HTTP runtime share no command, and a short lock is never renewed. */
export const priceRows: readonly (readonly string[])[] = [
  [1, 10],
  [30, 10],
  [30, 60],
].map(([heldS = 0, ttlS = 0]) => {
  const [heldMs, ttlMs] = [heldS * 1_000, ttlS * 1_000]
  const price = pricePerMillion(heldMs, ttlMs, examplePrice)
  return [
    `held for ${heldS} s, ttl ${ttlS} s`,
    commandsPerMillion(heldMs, ttlMs).toLocaleString('en'),
    price.toFixed(2),
  ]
})
