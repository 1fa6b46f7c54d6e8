import { type Clock, type Duration, InvalidOptionError, systemClock } from '@leasehold/core'
import { shortestSecret } from '../http/bearer-tokens.ts'
import { base64Of, bytesOf, textOf } from '../http/text.ts'
import { isPattern } from './key-patterns.ts'

/** What a ticket allows, and for how long. */
export interface TicketClaims {
  /** Keys, or beginnings of keys followed by `*`, such as `tenant-a:*`. */
  readonly patterns: readonly string[]
  /** When it ends, in seconds since the epoch. */
  readonly exp: number
  /** Whom the limit of connections counts; default: the patterns. */
  readonly sub?: string
}

export interface TicketOptions {
  /** The keys that its bearer may wait for: each the whole key, or the beginning of one followed by `*`. */
  readonly patterns: readonly string[]
  /** How long it is valid, such as `'15m'`. */
  readonly expiresIn: Duration
  /** Whom the limit of connections counts, such as the tenant's id; default: the patterns. */
  readonly subject?: string
  /** Default: the runtime's. */
  readonly clock?: Clock
}

/** @throws InvalidOptionError naming the option, never with the secret in it. */
export function checkSecret(option: string, secret: unknown): void {
  if (typeof secret === 'string' && secret.length >= shortestSecret) return
  throw new InvalidOptionError(
    option,
    `must be text of at least ${shortestSecret} characters, such as 32 random bytes in hex`,
  )
}

/**
 * Makes a ticket that lets its bearer wait for some keys for some time, to be sent like a token. It is signed and not
 * encrypted: its bearer can read it. It cannot be taken back before its end, so give it a short life.
 *
 * @param secret one of the bridge's `ticketSecrets`
 * @throws InvalidOptionError naming the option.
 */
export async function issueTicket(secret: string, options: TicketOptions): Promise<string> {
  const { patterns, expiresIn, subject, clock = systemClock } = options
  checkSecret('secret', secret)
  if (!Array.isArray(patterns) || patterns.length === 0 || !patterns.every(isPattern)) {
    throw new InvalidOptionError(
      'patterns',
      'must be keys, or beginnings of keys with a "*" at the end and nowhere else',
    )
  }
  const exp = (clock.wallMs() + lifetimeMs(expiresIn)) / 1_000
  const claims: TicketClaims = { patterns, exp, ...(subject !== undefined && { sub: subject }) }
  const payload = base64url(bytesOf(JSON.stringify(claims)))
  const mac = await crypto.subtle.sign(algorithm.name, await keyOf(secret), encoded(payload))
  return `${payload}.${base64url(new Uint8Array(mac))}`
}

/** Answers what a ticket allows if one of the secrets has signed it, whether or not its time is over. */
export type TicketCheck = (ticket: string) => Promise<TicketClaims | undefined>

export function ticketCheck(secrets: readonly string[]): TicketCheck {
  // The keys and not their promise are kept: on Workers a promise must not be shared between requests.
  let keys: readonly CryptoKey[] | undefined
  return async (ticket) => {
    const [, payload, mac] = /^([\w-]{1,4096})\.([\w-]{43})$/.exec(ticket) ?? []
    if (payload === undefined || mac === undefined) return undefined
    keys ??= await Promise.all(secrets.map(keyOf))
    for (const key of keys) {
      // In constant time, as Web Crypto does it; and before anything of it is read.
      const isOurs = await crypto.subtle.verify(algorithm.name, key, bytesOfBase64url(mac), encoded(payload))
      if (isOurs) return claimsOf(payload)
    }
    return undefined
  }
}

const algorithm = { name: 'HMAC', hash: 'SHA-256' } as const

const keyOf = (secret: string): Promise<CryptoKey> =>
  crypto.subtle.importKey('raw', encoded(secret), algorithm, false, ['sign', 'verify'])

const encoded = (text: string): Uint8Array<ArrayBuffer> => bytesOf(text) as Uint8Array<ArrayBuffer>

/** What another issuer with the same secret has signed may still be no ticket. */
function claimsOf(payload: string): TicketClaims | undefined {
  try {
    const claims = JSON.parse(textOf(bytesOfBase64url(payload))) as Partial<TicketClaims> | null
    const { patterns, exp, sub } = claims ?? {}
    if (!Array.isArray(patterns) || !patterns.every(isPattern) || typeof exp !== 'number') return undefined
    return { patterns, exp, ...(typeof sub === 'string' && { sub }) }
  } catch {
    return undefined
  }
}

const base64url = (bytes: Uint8Array): string =>
  base64Of(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')

function bytesOfBase64url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const

function lifetimeMs(expiresIn: Duration): number {
  const [, digits, unit = 'ms'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(String(expiresIn)) ?? []
  const ms = Number(digits ?? Number.NaN) * unitMs[unit as keyof typeof unitMs]
  if (ms > 0 && ms < 2 ** 53) return ms
  throw new InvalidOptionError('expiresIn', 'must be a duration, such as 900000 or "15m"')
}
