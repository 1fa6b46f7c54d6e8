import { demandOption } from '@leasehold/core/adapter'

/** The name of the object that renews all leases, unless they are spread. */
export const defaultName = 'leasehold-watchdog'

/**
 * Spreads keys over several objects, the same key always to the same one: for `nameOf` of `watchdog`. An object has one thread, and
 * renews 1,000 leases at most, unless it is set otherwise. The names are `leasehold-watchdog-0`, `-1` and so on.
 *
 * The number may be changed at any time: a lease stays with the object that has adopted it.
 *
 * @example
 * ```ts
 * const renew = watchdog(env.WATCHDOG, { nameOf: shards(8) })
 * ```
 *
 * @throws InvalidOptionError for a count that is no whole number above 0
 */
export function shards(count: number, name: string = defaultName): (key: string) => string {
  demandOption(Number.isInteger(count) && count > 0, 'count', 'a whole number above 0', count)
  return (key) => `${name}-${hash(key) % count}`
}

/** FNV-1a, 32 bits: it has to spread, and to be the same everywhere and forever. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return value >>> 0
}
