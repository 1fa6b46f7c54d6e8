/** Random numbers of at least 0 and below 1, and their seed. */
export interface SeededRandom {
  readonly random: () => number
  readonly seed: number
}

/**
 * Repeatable random numbers: the same seed gives the same numbers everywhere. Without a seed, the environment's
 * `LEASEHOLD_SEED` is used, or a seed is drawn; either is printed.
 *
 * Algorithm: mulberry32 (T. Ettinger, public domain).
 */
export function seededRandom(seed: number = chooseSeed()): SeededRandom {
  let state = seed
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { random, seed }
}

function chooseSeed(): number {
  const given = process.env['LEASEHOLD_SEED']
  const seed = given === undefined ? Math.trunc(Math.random() * 2 ** 31) : Number(given)
  if (!Number.isSafeInteger(seed)) throw new RangeError(`LEASEHOLD_SEED is not a whole number: ${given}`)
  // biome-ignore lint/suspicious/noConsole: without the seed a failure cannot be repeated
  console.log(`LEASEHOLD_SEED=${seed}`)
  return seed
}
