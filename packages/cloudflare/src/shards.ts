import { demandOption } from '@leasehold/core/adapter'

/** The name of the object that renews all leases, unless they are spread over several. */
export const defaultName = 'leasehold-watchdog'

/**
 * Spreads keys over several objects, for `nameOf` of `watchdog`; a key always goes to the same object. An object has
 * one thread, and renews at most 1,000 leases, unless set otherwise. The names are `leasehold-watchdog-0`, `-1` and so
 * on.
 *
 * You may change the number at any time: a lease stays with the object that has adopted it.
 *
 * @example
 * ```ts
 * const renew = watchdog(env.WATCHDOG, { nameOf: shards(8) })
 * ```
 *
 * @throws InvalidOptionError for a count that is not a whole number above 0
 */
export function shards(count: number, name: string = defaultName): (key: string) => string {
  demandOption(Number.isInteger(count) && count > 0, 'count', 'a whole number above 0', count)
  return (key) => `${name}-${hash(key) % count}`
}

/** FNV-1a, 32 bits: it must spread keys, and give the same result everywhere and forever. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return value >>> 0
}
