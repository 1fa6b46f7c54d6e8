import { demandOption } from '../errors.ts'
import { longestKey } from './figures.ts'

/** @throws InvalidOptionError for a key that is empty, too long, or not well-formed Unicode. */
export function checkKey(key: unknown): asserts key is string {
  // A lone surrogate is sent as U+FFFD, so two different keys could become one.
  const isText = typeof key === 'string' && key !== '' && key.length <= longestKey && key.isWellFormed()
  // A UTF-16 unit takes at most three bytes.
  const fits = isText && (key.length * 3 <= longestKey || new TextEncoder().encode(key).length <= longestKey)
  demandOption(fits, 'key', `well-formed text of 1 to ${longestKey} bytes`, key)
}
