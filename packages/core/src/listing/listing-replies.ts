import { type KeyLayout, keyOfName } from '../redis/keys.ts'
import type { ScriptReply } from '../redis/redis-transport.ts'
import { decoder, itself } from '../redis/replies.ts'
import type { Refused, Unknown } from '../store/lease-store.ts'
import type { ListedLock } from '../store/listing.ts'
import { shownHolder } from '../store/shown-holder.ts'

/* Turns the scripts' replies into outcomes. As with the other scripts, the shape of each reply is checked. */

/** One part of a search. The last part's cursor is `0`. */
export type Found = { readonly type: 'found'; readonly cursor: string; readonly keys: readonly string[] }

export const foundOutcome = (keys: KeyLayout): ((reply: ScriptReply) => Found | Unknown | Refused) =>
  decoder<Found>({
    found: ([cursor, ...names]) =>
      /^\d+$/.test(String(cursor)) && {
        type: 'found',
        cursor: String(cursor),
        keys: names.flatMap((name) => keyOfName(keys, String(name)) ?? []),
      },
  })

/** One lock, without its key, which the replies do not repeat. */
export type Read = { readonly type: 'lock'; readonly lock: Omit<ListedLock, 'key'> } | { readonly type: 'none' }

const isNumber = (value: unknown): value is number => typeof value === 'number'
const orNull = (value: number): number | null => (value < 0 ? null : value)
const kinds: readonly unknown[] = ['exclusive', 'semaphore', 'read-write'] satisfies ListedLock['kind'][]

export const readOutcome: (reply: ScriptReply) => Read | Unknown | Refused = decoder<Read>({
  lock: ([kind, value, ...numbers]) =>
    kinds.includes(kind) && numbers.length === 5 && numbers.every(isNumber) && locked(kind as Kind, value, numbers),
  none: itself,
  // Something other than a lock is stored there.
  other: () => ({ type: 'none' }),
})

type Kind = ListedLock['kind']

function locked(kind: Kind, value: unknown, numbers: readonly number[]): Read {
  const [capacity, holders, pttl, waiting, listeners] = numbers as [number, number, number, number, number]
  const { isKept, ...shown } = shownHolder(String(value))
  const lock = {
    ...{ kind, capacity, holders: isKept ? 0 : holders, ...shown },
    ...{ expiresInMs: orNull(pttl), isKept, waiting, listeners: orNull(listeners) },
  }
  return { type: 'lock', lock }
}
