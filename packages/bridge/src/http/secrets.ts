import { InvalidOptionError } from '@leasehold/core'

/** A shorter secret can be found by trying. */
const shortestSecret = 32

/** @throws InvalidOptionError naming the option, never with the secret in it. */
export function checkSecret(option: string, secret: unknown): asserts secret is string {
  if (typeof secret === 'string' && secret.length >= shortestSecret) return
  throw new InvalidOptionError(
    option,
    `must be text of at least ${shortestSecret} characters, such as 32 random bytes in hex: openssl rand -hex 32`,
  )
}

/** Checks secrets that travel in a header. @throws InvalidOptionError naming the option, never with a token in it. */
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
