import type { Clock } from '@leasehold/core'
import { bearerCheck, bearerOf } from '../http/bearer-tokens.ts'
import type { CheckedAuth } from './bridge-options.ts'
import { isCovered } from './key-patterns.ts'
import { ProblemError } from './problem.ts'
import { ticketCheck } from './tickets.ts'

/** Who sent a request, and what they may wait for. */
export interface Client {
  /** The client that the connection limits count. Not a secret. */
  readonly subject: string
  covers(key: string): boolean
  /** How long the access lasts, in milliseconds; undefined if it never expires. */
  readonly expiresInMs?: number
}

/**
 * Resolves with the client that sent an `Authorization` header.
 *
 * @throws ProblemError (401) if the bridge does not let it in
 */
export type Access = (authorization: string | undefined) => Promise<Client>

/**
 * How far the clocks of the issuer and the bridge may differ, in milliseconds: a ticket with the longest allowed
 * lifetime still passes.
 */
const clockLeewayMs = 300_000

export function access({ tokens, ticketSecrets, longestTicketMs }: CheckedAuth, clock: Clock): Access {
  const tokenOf = bearerCheck(tokens)
  const claimsOf = ticketCheck(ticketSecrets)
  return async (authorization) => {
    const given = bearerOf(authorization)
    const token = await tokenOf(given)
    if (token !== undefined) return { subject: `token ${token}`, covers: () => true }
    const claims = given === undefined ? undefined : await claimsOf(given)
    if (!claims) {
      throw new ProblemError(
        401,
        'Send a token of this bridge, or a valid ticket, in the Authorization header, as Bearer',
      )
    }
    const { patterns, exp, sub = patterns.join(' ') } = claims
    const expiresInMs = exp * 1_000 - clock.wallMs()
    if (!(expiresInMs > 0)) throw new ProblemError(401, 'The ticket has expired')
    if (expiresInMs > longestTicketMs + clockLeewayMs) {
      throw new ProblemError(
        401,
        `The ticket expires later than the ${longestTicketMs} ms that this bridge allows a ticket`,
      )
    }
    return { subject: `ticket ${sub}`, covers: (key) => isCovered(key, patterns), expiresInMs }
  }
}
