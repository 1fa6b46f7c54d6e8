import { demandOption, LeaseholdError } from '../errors.ts'
import type { Refused } from './lease-store.ts'

/** The most sessions that a room may have. A look lists them all. */
export const mostEntries = 10_000

/**
 * The most entries that a room may have with those that left or were displaced, which stay until they would have
 * expired. All sessions of a full room may reconnect twice within a ttl; a client that reconnects in a loop takes
 * memory and time only up to here.
 */
export const mostKnown = 30_000

/** The longest name of a user, a session or a role, in UTF-16 units. */
const longestName = 256

/**
 * @throws InvalidOptionError for a name that is empty, too long or ill-formed, or has control characters (separators)
 */
export function checkRoomName(option: string, name: unknown): asserts name is string {
  const isText = typeof name === 'string' && name !== '' && name.length <= longestName
  demandOption(
    isText && name.isWellFormed() && !/\p{Cc}/u.test(name),
    option,
    `text of 1 to ${longestName} characters, none of them a control character`,
    name,
  )
}

/** The refusal to enter a full room. */
export const fullRoom = (): Refused => ({
  type: 'refused',
  error: new LeaseholdError('INVALID_OPTION', 'The room is full; use further rooms'),
})
