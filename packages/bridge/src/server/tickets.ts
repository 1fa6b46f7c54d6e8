import { type Clock, type Duration, InvalidOptionError, parseDuration, systemClock } from '@leasehold/core'
import { base64Of } from '../http/base64.ts'
import { checkSecret } from '../http/secrets.ts'
import { bytesOf, textOf } from '../http/text.ts'
import { isPattern } from './key-patterns.ts'

/** What a ticket allows, and for how long. */
export interface TicketClaims {
  /** Keys, or key prefixes followed by `*`, such as `tenant-a:*`. */
  readonly patterns: readonly string[]
  /** When it expires, in seconds since the epoch. */
  readonly exp: number
  /** The client that the connection limits count; default: the patterns. */
  readonly sub?: string
}

export interface TicketOptions {
  /** The keys that its bearer may wait for: each a whole key, or a key prefix followed by `*`. */
  readonly patterns: readonly string[]
  /** How long it is valid, such as `'15m'`; at most `longestTicket`. */
  readonly expiresInMs: Duration
  /** The client that the connection limits count, such as the tenant's id; default: the patterns. */
  readonly subject?: string
  /** The bridge's `auth.longestTicket`, if it has one; default `'24h'`. */
  readonly longestTicket?: Duration
  /** Default: the runtime's. */
  readonly clock?: Clock
}

/** How far in the future a ticket may expire by default: a leaked ticket is useless a day later. */
export const defaultLongestTicket: Duration = '24h'
/** The longest payload, in characters: servers and proxies accept header lines of 8 kB or so. */
const longestPayload = 4_096

/**
 * Makes a ticket that lets its bearer wait for some keys for a limited time; it is sent like a token. It is signed, not
 * encrypted: its bearer can read it. It cannot be revoked, so give it a short lifetime.
 *
 * @param secret one of the bridge's `ticketSecrets`
 * @throws InvalidOptionError naming the option, for everything that a bridge would refuse too.
 */
export async function issueTicket(secret: string, options: TicketOptions): Promise<string> {
  const { patterns, expiresInMs, subject, longestTicket = defaultLongestTicket, clock = systemClock } = options
  checkSecret('secret', secret)
  const lifetimeMs = parseDuration('expiresInMs', expiresInMs)
  if (lifetimeMs > parseDuration('longestTicket', longestTicket)) {
    throw new InvalidOptionError(
      'expiresInMs',
      `must be at most ${longestTicket}; a bridge may be set to another longestTicket`,
    )
  }
  const exp = (clock.wallMs() + lifetimeMs) / 1_000
  const payload = payloadOf({ patterns, exp, ...(subject !== undefined && { sub: subject }) })
  const mac = await crypto.subtle.sign(algorithm.name, await keyOf(secret), encoded(payload))
  return `${payload}.${base64url(new Uint8Array(mac))}`
}

/** @throws InvalidOptionError naming the option, for what `ticketCheck` would turn away. */
function payloadOf(claims: TicketClaims): string {
  // Checks it as given and as it will be read: a hole in an array, for example, becomes a `null`.
  const fault = faultOf(claims) ?? faultOf(JSON.parse(JSON.stringify(claims)))
  if (fault) throw new InvalidOptionError(...fault)
  const payload = base64url(bytesOf(JSON.stringify(claims)))
  if (payload.length <= longestPayload) return payload
  throw new InvalidOptionError(
    'patterns',
    `must fit, with the subject, into ${longestPayload} characters of a ticket, and take ${payload.length}`,
  )
}

/** What is wrong with a ticket, both when it is issued and when it is checked: the first bad option, and what it must be. */
function faultOf(claims: { readonly [claim in keyof TicketClaims]?: unknown } | null): [string, string] | undefined {
  const { patterns, exp, sub } = claims ?? {}
  if (!Array.isArray(patterns) || patterns.length === 0 || !patterns.every(isPattern)) {
    return ['patterns', 'must be keys, or beginnings of keys with a "*" at the end and nowhere else']
  }
  if (typeof exp !== 'number' || !Number.isFinite(exp))
    return ['expiresInMs', 'must give a time at which the ticket ends']
  if (sub !== undefined && typeof sub !== 'string') return ['subject', 'must be text']
  return undefined
}

/** Resolves with what a ticket allows if one of the secrets has signed it, whether or not it has expired. */
export type TicketCheck = (ticket: string) => Promise<TicketClaims | undefined>

export function ticketCheck(secrets: readonly string[]): TicketCheck {
  // Caches the keys, not their promise: on Workers a promise must not be shared between requests.
  let keys: readonly CryptoKey[] | undefined
  return async (ticket) => {
    const [, payload, mac] = /^([\w-]+)\.([\w-]{43})$/.exec(ticket) ?? []
    if (payload === undefined || mac === undefined || payload.length > longestPayload) return undefined
    keys ??= await Promise.all(secrets.map(keyOf))
    for (const key of keys) {
      // Web Crypto compares in constant time. Nothing of the ticket is read before this.
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

/** Returns undefined for data that is not a ticket: the same secret may have signed anything. */
function claimsOf(payload: string): TicketClaims | undefined {
  try {
    const claims = JSON.parse(textOf(bytesOfBase64url(payload))) as TicketClaims
    if (faultOf(claims)) return undefined
    const { patterns, exp, sub } = claims
    return { patterns, exp, ...(sub !== undefined && { sub }) }
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
