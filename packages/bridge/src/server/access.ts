import type { Clock } from '@leasehold/core'
import { bearerCheck, bearerOf } from '../http/bearer-tokens.ts'
import { isCovered } from './key-patterns.ts'
import { ticketCheck } from './tickets.ts'

/** Who asks, and what they may wait for. */
export interface Client {
  /** Whom the limit of connections counts. Not a secret. */
  readonly subject: string
  covers(key: string): boolean
  /** How long that holds, in milliseconds; undefined for ever. */
  readonly expiresInMs?: number
}

/** Answers who sent an `Authorization` header, or undefined if nobody whom the bridge knows. */
export type Access = (authorization: string | undefined) => Promise<Client | undefined>

export function access(tokens: readonly string[], ticketSecrets: readonly string[], clock: Clock): Access {
  const tokenOf = bearerCheck(tokens)
  const claimsOf = ticketCheck(ticketSecrets)
  return async (authorization) => {
    const given = bearerOf(authorization)
    if (given === undefined) return undefined
    const token = await tokenOf(given)
    if (token !== undefined) return { subject: `token ${token}`, covers: () => true }
    const claims = await claimsOf(given)
    if (!claims) return undefined
    const { patterns, exp, sub = patterns.join(' ') } = claims
    const expiresInMs = exp * 1_000 - clock.wallMs()
    if (!(expiresInMs > 0)) return undefined
    return { subject: `ticket ${sub}`, covers: (key) => isCovered(key, patterns), expiresInMs }
  }
}
