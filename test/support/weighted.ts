/** Returns numbers of at least 0 and below 1. */
export type Random = () => number

export type Weighted<T> = readonly (readonly [weight: number, choice: T])[]

export function pick<T>(random: Random, choices: Weighted<T>): T {
  let left = random() * choices.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, choice] of choices) {
    left -= weight
    if (left < 0) return choice
  }
  return (choices.at(-1) as (typeof choices)[number])[1]
}

/** A random integer, both ends included. */
export const between = (random: Random, from: number, to: number): number =>
  from + Math.floor(random() * (to - from + 1))
