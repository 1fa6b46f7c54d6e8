import type { Refused, Unknown } from '../store/lease-store.ts'

/**
 * Whether a result was refused for its size, by a server without memory left, or by a proxy that takes no request so
 * large. All other refusals are temporary, such as a replica's: another server will take the result.
 */
export function isTooLarge(outcome: object): boolean {
  const { cause, error } = outcome as Partial<Pick<Unknown, 'cause'> & Pick<Refused, 'error'>>
  return /\bOOM\b|\bHTTP 413\b/.test(String(cause ?? error?.cause))
}
