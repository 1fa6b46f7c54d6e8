/**
 * `npm run soak` runs each case as written; `npm test` runs it with a fifth of its times and rounds, and the same
 * claims.
 */
export const soak: boolean = process.env['LEASEHOLD_SOAK'] === '1'

/**
 * A time of a case, in milliseconds; a shortened one is at least `leastMs`, for limits that a slow machine has to meet.
 */
export const ms = (literal: number, leastMs = 0): number => (soak ? literal : Math.max(Math.ceil(literal / 5), leastMs))

/** A number of rounds, clients or items of a case. */
export const rounds = (literal: number, short: number = Math.ceil(literal / 5)): number => (soak ? literal : short)

/**
 * A time limit within which something must happen, in milliseconds. The soak has the machine to itself and takes it
 * literally; `npm test` may run beside other work, and allows for that.
 */
export const limit = (literal: number): number => (soak ? literal : literal + 4_000)

/** Lets real time pass, for cases where a real store has to expire something, or that say when to act. */
export const elapse = (delayMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, delayMs))

/** Calls repeatedly until the answer is true; fails after `limitMs`. For events that a server does not announce. */
export async function eventually(claim: () => Promise<boolean> | boolean, limitMs = 30_000): Promise<void> {
  const giveUpAt = performance.now() + limitMs
  while (!(await claim())) {
    if (performance.now() > giveUpAt) throw new Error(`Not true within ${limitMs} ms`)
    await elapse(10)
  }
}
