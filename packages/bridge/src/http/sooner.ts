/**
 * A time, or up to `share` of it less, at random: what began together must not come back together for ever.
 *
 * @param random from 0 to 1
 */
export const sooner = (ms: number, share: number, random: number = Math.random()): number => ms * (1 - random * share)
