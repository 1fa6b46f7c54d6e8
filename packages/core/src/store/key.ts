import { demandOption } from '../errors.ts'
import { longestKey } from './figures.ts'

/** @throws InvalidOptionError for a key that is empty, too long, or not well-formed Unicode. */
export function checkKey(key: unknown): asserts key is string {
  // A lone surrogate is sent as U+FFFD, so two different keys would become one.
  const wellFormed = typeof key === 'string' && key.length <= longestKey && !/\p{Surrogate}/u.test(key)
  const bytes = wellFormed ? new TextEncoder().encode(key).length : 0
  demandOption(bytes > 0 && bytes <= longestKey, 'key', `well-formed text of 1 to ${longestKey} bytes`, key)
}
