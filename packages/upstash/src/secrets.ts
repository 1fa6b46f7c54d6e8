import type { ScriptCall } from '@leasehold/core/redis'

/** Access tokens and arguments at least this long may be secret; shorter ones are numbers. */
const shortestSecret = 8
/** By so many characters at its beginning a secret is known, even where it is quoted in part. */
const knownBy = 16

/**
 * A text of the server's or the runtime's without what it may quote: it ends where the access token or an argument of a
 * call begins, since tokens of leases are arguments.
 */
export function withoutSecrets(text: string, token: string, calls: readonly ScriptCall[]): string {
  const secrets = [token, ...calls.flatMap(({ args }) => args)].filter(({ length }) => length >= shortestSecret)
  return secrets.reduce(
    (left, secret) => left.split(secret.slice(0, knownBy), 1)[0] as string,
    // Redis quotes the arguments of a command it does not know, cut to a length of its own.
    text.replace(/,? with args begin.*/s, ''),
  )
}
