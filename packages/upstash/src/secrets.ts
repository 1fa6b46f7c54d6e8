import type { ScriptCall } from '@leasehold/core/redis'

/** Access tokens and arguments of at least this length may be secret; shorter ones are numbers. */
const shortestSecret = 8
/** A secret is recognised by this many characters at its beginning, so also where only a part of it is quoted. */
const knownBy = 16

/**
 * A text of the server or the runtime without secrets that it may quote. It is cut where the access token or an argument of a call
 * begins: tokens of leases are arguments.
 */
export function withoutSecrets(text: string, token: string, calls: readonly ScriptCall[]): string {
  const secrets = [token, ...calls.flatMap(({ args }) => args)].filter(({ length }) => length >= shortestSecret)
  return secrets.reduce(
    (left, secret) => left.split(secret.slice(0, knownBy), 1)[0] as string,
    // Redis quotes the arguments of an unknown command, and shortens them.
    text.replace(/,? with args begin.*/s, ''),
  )
}
