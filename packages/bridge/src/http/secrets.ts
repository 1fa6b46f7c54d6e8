import { InvalidOptionError } from '@leasehold/core'

/** The shortest allowed secret, in characters: a shorter one can be found by brute force. */
const shortestSecret = 32

/** @throws InvalidOptionError naming the option, never containing the secret. */
export function checkSecret(option: string, secret: unknown): asserts secret is string {
  if (typeof secret === 'string' && secret.length >= shortestSecret) return
  throw new InvalidOptionError(
    option,
    `must be text of at least ${shortestSecret} characters, such as 32 random bytes in hex: openssl rand -hex 32`,
  )
}

/** Checks secrets that are sent in a header. @throws InvalidOptionError naming the option, never containing a token. */
export function checkTokens(option: string, tokens: readonly unknown[]): void {
  for (const token of tokens) {
    checkSecret(option, token)
    if (/^[\x21-\x7e]+$/.test(token)) continue
    throw new InvalidOptionError(
      option,
      'must be visible ASCII characters without spaces, so that it fits into a header',
    )
  }
}
