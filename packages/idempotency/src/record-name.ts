import { demandOption } from '@leasehold/core/adapter'
import { sha256 } from './sha256.ts'

/** The longest name that stays readable, in bytes. A lock's key may have 512. */
const longestName = 400

/**
 * The name of a record, made of scope and key so that no two pairs share a name.
 *
 * Both parts are escaped, so they have no colon, no brace and no pattern character. So neither can run into the other
 * or choose a cluster slot, and operators and bridge tickets can tell whose record it is. A long name is hashed. Its
 * `#` cannot occur in an escaped part.
 *
 * @throws InvalidOptionError for a scope that is empty, or not well-formed text
 */
export async function recordName(scope: string, key: string): Promise<string> {
  const fits = typeof scope === 'string' && scope !== '' && !/\p{Surrogate}/u.test(scope)
  demandOption(fits, 'scope', 'well-formed text that is not empty')
  const name = `${escaped(scope)}:${escaped(key)}`
  return `idempotency:${name.length <= longestName ? name : `#${await sha256(new TextEncoder().encode(name))}`}`
}

const escaped = (part: string): string => encodeURIComponent(part).replaceAll('*', '%2A')
