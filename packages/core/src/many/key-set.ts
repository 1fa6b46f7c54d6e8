import { demandOption } from '../errors.ts'
import { checkKey } from '../store/key.ts'
import { mostKeys } from './figures.ts'

/**
 * Returns the keys without repeats, in the order in which every process takes them: by their UTF-8 bytes. So no two
 * processes wait for each other.
 *
 * @throws InvalidOptionError for a bad key, or anything but a list of at most 1,000 keys
 */
export function keySet(keys: Iterable<string>, least: 0 | 1): readonly string[] {
  // A string is a list of its characters, but nobody means that.
  demandOption(typeof keys === 'object' && Symbol.iterator in Object(keys), 'keys', 'a list of keys', keys)
  const distinct = new Set(keys)
  demandOption(distinct.size >= least && distinct.size <= mostKeys, 'keys', `${least} to ${mostKeys} keys`)
  for (const key of distinct) checkKey(key)
  return [...distinct].sort(byBytes)
}

/** The order of UTF-8 bytes is that of code points; the order of UTF-16 units is not. */
function byBytes(a: string, b: string): number {
  const least = Math.min(a.length, b.length)
  for (let at = 0; at < least; at++) {
    const difference = (a.codePointAt(at) as number) - (b.codePointAt(at) as number)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
