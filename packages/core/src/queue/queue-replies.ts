import type { RedisTransport, ScriptReply } from '../redis/redis-transport.ts'
import { decoder, itself, notALock } from '../redis/replies.ts'
import { countsSubscribers } from '../redis/run-script.ts'
import { kindMismatch } from '../store/kind-mismatch.ts'
import type { Refused, ReleaseOutcome, RenewOutcome } from '../store/lease-store.ts'
import type {
  LeaveOutcome,
  LookOutcome,
  QueuedAcquireOutcome,
  QueuedAcquireRequest,
  QueueHolder,
  QueueInspection,
  QueueKind,
  ResizeOutcome,
} from '../store/queue.ts'
import { parseToken } from '../store/token.ts'

/*
 * Turns the replies of the queue's scripts into outcomes. As with the other scripts, the shape of each reply is
 * checked: some clients resolve with something else when they are aborted, and some turn "123" into a number.
 */

const isNumber = (value: unknown): value is number => typeof value === 'number'
const areNumbers = (value: unknown): value is readonly number[] => Array.isArray(value) && value.every(isNumber)
const orNull = (value: number): number | null => (value < 0 ? null : value)
const named = (value: unknown): string | null => String(value) || null

function kindOf(name: unknown, capacity: unknown): QueueKind | undefined {
  if (name !== 'exclusive' && name !== 'semaphore' && name !== 'read-write') return undefined
  // Redis returns the values of a hash as text.
  return { name, capacity: Number(capacity) }
}

/** The lock is of another kind than was asked for, or has another capacity. */
const otherKind =
  (asked: QueueKind) =>
  ([name, capacity]: readonly unknown[]): Refused | false => {
    const found = kindOf(name, capacity)
    return !!found && kindMismatch(asked, found)
  }

export function acquireOutcome({ kind, permits }: QueuedAcquireRequest): (reply: ScriptReply) => QueuedAcquireOutcome {
  return decoder<QueuedAcquireOutcome>({
    bare: (token) => {
      const fence = parseToken(token)?.fence
      return fence !== undefined && { type: 'granted', token: token as string, fence }
    },
    queued: ([position, again, holder]) =>
      isNumber(position) &&
      isNumber(again) && { type: 'queued', position, againInMs: orNull(again), holder: named(holder) },
    held: ([pttl, holder]) => isNumber(pttl) && { type: 'held', expiresInMs: orNull(pttl), holder: named(holder) },
    spent: itself,
    // Asking for more permits than there are is asking for another capacity.
    kind: otherKind({ ...kind, capacity: Math.max(kind.capacity, permits) }),
    other: notALock,
  })
}

export const lookOutcome: (reply: ScriptReply) => LookOutcome = decoder<LookOutcome>({
  looked: ([again, turns, missing]) =>
    isNumber(again) &&
    areNumbers(turns) &&
    areNumbers(missing) && { type: 'looked', againInMs: orNull(again), turns, missing },
  other: notALock,
})

export const leaveOutcome: (reply: ScriptReply) => LeaveOutcome = decoder<LeaveOutcome>({
  bare: (word) => word === 'left' && { type: word },
  absent: itself,
  // Whatever is there, this waiter is not in it.
  other: () => ({ type: 'absent' }),
})

export const renewOutcome: (reply: ScriptReply) => RenewOutcome = decoder<RenewOutcome>({
  bare: (word) => word === 'renewed' && { type: word },
  gone: itself,
  other: () => ({ type: 'superseded' }),
})

export const releaseOutcome = (transport: RedisTransport): ((reply: ScriptReply) => ReleaseOutcome) =>
  decoder<ReleaseOutcome>({
    bare: (told) => {
      const least = countsSubscribers(transport) ? 0 : 1
      return isNumber(told) && { type: 'released', announced: told !== -1, subscribers: told < least ? null : told }
    },
    released: ([told]) => told === -2 && { type: 'released', announced: true, subscribers: null },
    revoked: itself,
    gone: (_, resent) => ({ type: 'gone', resent }),
    superseded: (_, resent) => ({ type: 'superseded', resent }),
    other: (_, resent) => ({ type: 'superseded', resent }),
  })

export const resizeOutcome = (asked: QueueKind): ((reply: ScriptReply) => ResizeOutcome) =>
  decoder<ResizeOutcome>({
    bare: (word) => word === 'resized' && { type: word },
    kind: otherKind(asked),
    other: notALock,
  })

export const inspectOutcome: (reply: ScriptReply) => QueueInspection = decoder<QueueInspection>({
  state: ([name, capacity, held, holders, waiters, waiting]) =>
    isNumber(held) &&
    Array.isArray(holders) &&
    areNumbers(waiters) &&
    isNumber(waiting) && {
      type: 'state',
      kind: kindOf(name, capacity) ?? null,
      held,
      holders: inGroups(holders, 3).map(holderOf),
      waiters: inGroups(waiters, 2).map(([permits, turn]) => ({ permits: permits as number, hasTurn: turn === 1 })),
      waiting,
    },
  other: notALock,
})

function holderOf([value, permits, pttl]: readonly unknown[]): QueueHolder {
  const { name = null, fence = null } = parseToken(value) ?? {}
  return { holder: name, fence, permits: Number(permits), expiresInMs: orNull(Number(pttl)) }
}

const inGroups = <T>(list: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: list.length / size }, (_, at) => list.slice(at * size, at * size + size))
