import type { StoredRecord } from '../store/records.ts'
import { parseToken } from '../store/token.ts'

/** How many bytes are converted at once: functions take only so many arguments. */
const bytesAtOnce = 8_192

export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += bytesAtOnce)
    binary += String.fromCharCode(...bytes.subarray(at, at + bytesAtOnce))
  return btoa(binary)
}

/** @throws an error of the runtime for text that is not base64 */
function fromBase64(text: string): Uint8Array {
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return bytes
}

/**
 * Reads a record as the scripts write it (see `claim.lua`). The token of its run is left out: while the run goes on, it
 * is a secret.
 *
 * @param pttl how long until its expiry, in milliseconds; negative for none
 * @returns false for anything that is not a record
 */
export function parseRecord(text: unknown, pttl: unknown): StoredRecord | false {
  const [, state, token, fingerprint, more] =
    (typeof text === 'string' && /^(running|done|too-large) (\S+) (\S+) ?(.*)$/.exec(text)) || []
  const run = parseToken(token)
  if (!run || fingerprint === undefined || typeof pttl !== 'number') return false
  const { name: holder, fence } = run
  const about = { fence, holder, fingerprint, expiresInMs: pttl < 0 ? null : pttl }
  if (state !== 'done') return { ...about, state: state as 'running' | 'too-large' }
  try {
    return { ...about, state, result: fromBase64(more as string) }
  } catch {
    // Truncated or changed in transit, so it is no answer.
    return false
  }
}
