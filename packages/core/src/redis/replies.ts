import { LeaseholdError, StoreUnavailableError } from '../errors.ts'
import type { AcquireOutcome, Refused, ReleaseOutcome, RenewOutcome, RevokeOutcome, Unknown } from '../lease-store.ts'
import { parseToken } from '../token.ts'
import type { ScriptReply } from './redis-transport.ts'

/*
 * Turns the scripts' replies, `[word, ...details]`, into outcomes. Each is checked by shape, on every transport: there
 * are clients that resolve with something else when they are aborted, and clients that turn "123" into a number.
 */

/** What each word of a script's reply means; undefined for details that do not belong to it. */
type Meanings<O> = Readonly<Record<string, (details: readonly unknown[], resent: boolean) => O | undefined>>

const decoder =
  <O>(meanings: Meanings<O | Refused>) =>
  (reply: ScriptReply): O | Unknown | Refused => {
    if (reply.type === 'unknown') return reply
    if (reply.type === 'error') return serverError(reply.message)
    const [word, ...details] = Array.isArray(reply.value) ? reply.value : []
    return meanings[word as string]?.(details, reply.resent) ?? garbled
  }

/** A client that answers something other than what was asked for has told us nothing. */
const garbled: Unknown = { type: 'unknown', executed: 'unknown', cause: new Error('Unexpected reply') }

/** Errors that pass by themselves; the server says them before it carries anything out. */
const passing = /^(LOADING|BUSY|OOM|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF)/

function serverError(message: string): Unknown | Refused {
  const cause = new Error(message)
  if (passing.test(message)) return { type: 'unknown', executed: 'no', cause }
  return { type: 'refused', error: new StoreUnavailableError('script refused', 'no', cause) }
}

const expiry = (pttl: number): number | null => (pttl < 0 ? null : pttl)

export const acquireOutcome: (reply: ScriptReply) => AcquireOutcome = decoder<AcquireOutcome>({
  granted: ([token]) => {
    const parsed = parseToken(token)
    return parsed && { type: 'granted', token: token as string, fence: parsed.fence }
  },
  held: ([pttl, cursor]) =>
    typeof pttl === 'number' ? { type: 'held', expiresInMs: expiry(pttl), cursor: String(cursor) } : undefined,
  spent: () => ({ type: 'spent' }),
  other: () => ({
    type: 'refused',
    error: new LeaseholdError('KIND_MISMATCH', 'The key holds something that is not a lock; use another key or prefix'),
  }),
})

export const renewOutcome: (reply: ScriptReply) => RenewOutcome = decoder<RenewOutcome>({
  renewed: () => ({ type: 'renewed' }),
  gone: () => ({ type: 'gone' }),
  superseded: () => ({ type: 'superseded' }),
})

export const releaseOutcome: (reply: ScriptReply) => ReleaseOutcome = decoder<ReleaseOutcome>({
  released: ([told]) =>
    typeof told === 'number' ? { type: 'released', listeners: told < 0 ? null : told } : undefined,
  gone: (_, resent) => ({ type: 'gone', resent }),
  superseded: (_, resent) => ({ type: 'superseded', resent }),
})

export const revokeOutcome: (reply: ScriptReply) => RevokeOutcome = decoder<RevokeOutcome>({
  released: () => ({ type: 'revoked' }),
  gone: () => ({ type: 'free' }),
})

/** A lock as it is stored. */
export type Holding =
  | { readonly type: 'held'; readonly value: string; readonly expiresIn: number | null }
  | { readonly type: 'free' }

export const holding: (reply: ScriptReply) => Holding | Unknown | Refused = decoder<Holding>({
  free: () => ({ type: 'free' }),
  held: ([value, pttl]) =>
    typeof pttl === 'number' ? { type: 'held', value: String(value), expiresIn: expiry(pttl) } : undefined,
})
