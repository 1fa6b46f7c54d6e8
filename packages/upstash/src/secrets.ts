import type { ScriptCall } from '@leasehold/core/redis'

/** Access tokens and arguments of at least this many characters may be secret; shorter ones are numbers. */
const shortestSecret = 8
/** A secret is recognized by this many characters at its beginning, so also where only a part of it is quoted. */
const knownBy = 16

/**
 * Removes the secrets that a text of the server or the runtime may quote. The text is cut where the access token or an
 * argument of a call begins: lease tokens are arguments.
 */
export function withoutSecrets(text: string, token: string, calls: readonly ScriptCall[]): string {
  const secrets = [token, ...calls.flatMap(({ args }) => args)].filter(({ length }) => length >= shortestSecret)
  return secrets.reduce(
    (left, secret) => left.split(secret.slice(0, knownBy), 1)[0] as string,
    // Redis quotes the arguments of an unknown command, and shortens them.
    text.replace(/,? with args begin.*/s, ''),
  )
}
