import { demandOption, LeaseholdError } from '../errors.ts'
import type { Refused } from './lease-store.ts'

/** How many entries a room may have at most, with those that have left and not expired. A look lists them all. */
export const mostEntries = 10_000

/** The longest name of a user, a session or a role, in UTF-16 units. */
const longestName = 256

/** @throws InvalidOptionError for a name that is empty, too long, not well-formed, or has control characters. They separate names. */
export function checkRoomName(option: string, name: unknown): asserts name is string {
  const isText = typeof name === 'string' && name !== '' && name.length <= longestName
  demandOption(
    isText && !/[\p{Cc}\p{Surrogate}]/u.test(name),
    option,
    `text of 1 to ${longestName} characters, none of them a control character`,
    name,
  )
}

/** The refusal of an enter into a room that is full. */
export const fullRoom = (): Refused => ({
  type: 'refused',
  error: new LeaseholdError('INVALID_OPTION', `The room has ${mostEntries} sessions; use further rooms`),
})
