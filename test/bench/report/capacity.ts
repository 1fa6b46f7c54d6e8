import {
  commandsPerMillion,
  commandsPerSecond,
  heapBytes,
  type ProcessLoad,
  pricePerMillion,
  quiet,
} from '../../../packages/cli/src/capacity/model.ts'

/*
 * The tables of `docs/performance.md` that come from the capacity model. `leasehold capacity` answers for other
 * numbers.
 */

/** The price of 100,000 commands. */
const examplePrice = 0.2

/** The examples on the page. Each line is for all of its processes together. */
const examples: readonly (readonly [what: string, processes: number, load: ProcessLoad])[] = [
  ['4 servers, 250 requests/s each, a lock a request', 4, { ...quiet, locksPerSecond: 250 }],
  ['the same, 4 locks in each command', 4, { ...quiet, locksPerSecond: 250, keysPerCommand: 4 }],
  ['10 servers that each hold 1,000 sessions for hours, ttl 30 s', 10, { ...quiet, held: 1_000, ttlMs: 30_000 }],
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
