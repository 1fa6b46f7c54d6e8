/**
 * Random numbers that can be repeated: the seed is printed, and `LEASEHOLD_SEED` sets it.
 * Algorithm: mulberry32 (T. Ettinger, public domain).
 */
export function seededRandom(): { readonly random: () => number; readonly seed: number } {
  const seed = Number(process.env['LEASEHOLD_SEED'] ?? Date.now() % 2 ** 31)
  console.log(`LEASEHOLD_SEED=${seed}`)
  let state = seed
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { random, seed }
}
