import { LeaseholdError, StoreUnavailableError } from '../errors.ts'
import type {
  AcquireOutcome,
  Refused,
  ReleaseOutcome,
  RenewOutcome,
  RevokeOutcome,
  Unknown,
} from '../store/lease-store.ts'
import { fenceOf } from '../store/token.ts'
import type { RedisTransport, ScriptReply } from './redis-transport.ts'
import { countsSubscribers } from './run-script.ts'

/*
 * Turns the scripts' replies into outcomes. Common replies are bare values, such as a token, because lists cost both
 * sides more. All others are lists, `[word, ...details]`. The shape of each reply is checked on every transport: some
 * clients resolve with something else when aborted, and some turn "123" into a number.
 */

/** What a script's replies mean. A function returns false for what does not fit. */
interface Meanings<O> {
  /** What a bare value means. */
  readonly bare?: (value: unknown, resent: boolean) => O | false
  /** What a list means that begins with this word, given the details behind it. */
  readonly [word: string]: ((details: readonly unknown[], resent: boolean) => O | false) | Itself | undefined
}

/** The meaning of a word that is an outcome's type and needs no details. */
export const itself = 'itself'
type Itself = typeof itself

/**
 * Makes the decoder for a script's replies. Missing replies are treated alike for every script, and so are the server's
 * own errors, whether they are about a whole command or, as `failed`, about one of its requests.
 */
export const decoder =
  <O>(meanings: Meanings<O | Refused>) =>
  (reply: ScriptReply): O | Unknown | Refused => {
    if (reply.type === 'unknown') return reply
    if (reply.type === 'error') return serverError(reply)
    const { value, resent } = reply
    if (!Array.isArray(value)) return meanings.bare?.(value, resent) || garbled
    const [word, detail] = value
    const message = word === 'failed' ? `${detail}` : ''
    // Only WRONGTYPE says that something else is stored there. Other errors, such as a missing permission, do not.
    const meaning = meanings[message.includes('WRONGTYPE') ? 'other' : (word as string)]
    if (meaning === itself) return { type: word } as O
    return meaning?.(value.slice(1), resent) || (message ? serverError({ type: 'error', message, resent }) : garbled)
  }

/** The outcome of a request that could not be sent. */
export const unsent: (reply: ScriptReply) => Unknown | Refused = decoder<never>({})

/** A reply that does not fit the script says nothing about the request. */
const garbled: Unknown = { type: 'unknown', executed: 'unknown', cause: new Error('Unexpected reply') }

/**
 * Errors that pass by themselves. The server replies with them before it carries anything out. Before version 7, and in
 * Dragonfly, the error of a command within a script comes wrapped.
 */
const passing = /(?:^|: -)(LOADING|BUSY|OOM|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF)/

function serverError({ message, resent }: ScriptReply & { type: 'error' }): Unknown | Refused {
  const cause = new Error(message)
  // The script removed a key and then used it again while its slot was moving. What the script did before that is done.
  const isHalfDone = message.includes('non local key')
  // If the client sent the request twice, the first copy may have been carried out.
  const executed = resent || isHalfDone ? 'unknown' : 'no'
  if (isHalfDone || passing.test(message)) return { type: 'unknown', executed, cause }
  return { type: 'refused', error: new StoreUnavailableError('refused the request', executed, cause, true) }
}

const isNumber = (value: unknown): value is number => typeof value === 'number'

/** A number, or null for -1, which means none. */
const orNull = (value: number): number | null => (value < 0 ? null : value)

export const notALock = (): Refused => ({
  type: 'refused',
  error: new LeaseholdError('KIND_MISMATCH', 'The key holds something that is not a lock; use another key or prefix'),
})

export const acquireOutcome: (reply: ScriptReply) => AcquireOutcome = decoder<AcquireOutcome>({
  bare: (token) => {
    const fence = fenceOf(token)
    return fence > 0 && { type: 'granted', token: token as string, fence }
  },
  held: ([pttl, cursor, holder]) =>
    isNumber(pttl) && {
      type: 'held',
      expiresInMs: orNull(pttl),
      cursor: String(cursor),
      holder: (holder as string) || null,
    },
  spent: itself,
  other: notALock,
})

export const renewOutcome: (reply: ScriptReply) => RenewOutcome = decoder<RenewOutcome>({
  bare: (word) => word === 'renewed' && { type: word },
  gone: itself,
  superseded: itself,
  other: () => ({ type: 'superseded' }),
})

const notMine = (_: unknown, resent: boolean): ReleaseOutcome => ({ type: 'superseded', resent })

/** If the server counts only some of the subscribers, a count of zero says nothing. */
export const releaseOutcome = (transport: RedisTransport): ((reply: ScriptReply) => ReleaseOutcome) =>
  decoder<ReleaseOutcome>({
    bare: (told) => {
      const least = countsSubscribers(transport) ? 0 : 1
      return isNumber(told) && { type: 'released', announced: told !== -1, subscribers: told < least ? null : told }
    },
    released: ([told]) => told === -2 && { type: 'released', announced: true, subscribers: null },
    revoked: itself,
    gone: (_, resent) => ({ type: 'gone', resent }),
    superseded: notMine,
    other: notMine,
  })

export const revokeOutcome: (reply: ScriptReply) => RevokeOutcome = decoder<RevokeOutcome>({
  bare: (told) => isNumber(told) && { type: 'revoked' },
  revoked: itself,
  // Its holder released it first.
  released: () => ({ type: 'free' }),
  gone: revokedBefore,
  superseded: revokedBefore,
  other: revokedBefore,
})

/** The holder that was read is gone. If this may be the answer to a repeat, this call counts as having revoked it. */
function revokedBefore(_: unknown, resent: boolean): RevokeOutcome {
  return { type: resent ? 'revoked' : 'free' }
}

/** What is stored under a lock's key. */
export type Holding =
  | { readonly type: 'held'; readonly expiresInMs: number | null; readonly value: string }
  /** Something that is not a lock. It is in a lock's way, so it counts as held. `value` is the server's error. */
  | { readonly type: 'other'; readonly expiresInMs: null; readonly value: string }
  | { readonly type: 'free' }

export const holding: (reply: ScriptReply) => Holding | Unknown | Refused = decoder<Holding>({
  held: ([pttl, value]) => isNumber(pttl) && { type: 'held', expiresInMs: orNull(pttl), value: String(value) },
  other: ([error]) => ({ type: 'other', expiresInMs: null, value: String(error) }),
  free: itself,
})
