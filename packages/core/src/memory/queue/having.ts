import { kindMismatch } from '../../store/kind-mismatch.ts'
import type { ReleaseOutcome, RenewOutcome } from '../../store/lease-store.ts'
import type {
  HeldPermitsRequest,
  QueueHolder,
  QueueInspection,
  QueueKind,
  ReleasePermitsRequest,
  ResizeOutcome,
} from '../../store/queue.ts'
import { mostHolders, mostShown } from '../../store/queue-figures.ts'
import { acquisitionIdOf, parseToken } from '../../store/token.ts'
import { exclusiveHolding, permitHolding } from './holding.ts'
import type { PermitHolder } from './permit-holder.ts'
import type { QueueVisit } from './queue-visit.ts'

/** Extends the lease of one of several holders. Of the queue, it moves only the time. */
export function renew({ keeper, key, queue, nowMs }: QueueVisit, { token, ttlMs }: HeldPermitsRequest): RenewOutcome {
  queue.queueTime(nowMs)
  const holding = permitHolding(keeper, key, queue, nowMs)
  if (holding.permitsOf(token) === 0) return { type: 'gone' }
  holding.extend(token, ttlMs)
  return { type: 'renewed' }
}

/** Ends a lease, or gives some of its permits back, and gives the turn to whoever is next. */
export function release(visit: QueueVisit, { exclusive, token, keep }: ReleasePermitsRequest): ReleaseOutcome {
  const { keeper, key, queue, nowMs } = visit
  const holding = exclusive ? exclusiveHolding(keeper, key, nowMs) : permitHolding(keeper, key, queue, nowMs)
  const has = holding.permitsOf(token)
  visit.begin()
  if (has > keep) holding.keep(token, keep)
  const subscribers = visit.pass(has > keep ? token : undefined)
  if (has > 0) return { type: 'released', announced: true, subscribers }
  const before = keeper.endingOf(key, acquisitionIdOf(token), nowMs)
  if (before === 'revoked') return { type: before }
  if (before) return { type: before, announced: true, subscribers: null }
  return { type: exclusive && holding.permits > 0 ? 'superseded' : 'gone', resent: false }
}

/** Changes the capacity of a lock that is held or waited for. Any other lock has none to change. */
export function resize(visit: QueueVisit, kind: QueueKind): ResizeOutcome {
  const other = visit.kinds().find(({ name }) => name !== kind.name)
  if (other) return kindMismatch(kind, other)
  visit.become(kind)
  visit.begin()
  visit.pass(undefined)
  return { type: 'resized' }
}

/** Reads the lock and its queue, and changes nothing. */
export function inspect(visit: QueueVisit): QueueInspection {
  const { keeper, key, queue, nowMs } = visit
  const entry = keeper.tables.locks.get(key, nowMs)
  const holder = ({ token, permits, expiresAtMs }: PermitHolder): QueueHolder => {
    const { name = null, fence = null } = parseToken(token) ?? {}
    return {
      holder: name,
      fence,
      permits,
      expiresInMs: expiresAtMs === Infinity ? null : Math.ceil(expiresAtMs - nowMs),
    }
  }
  const holders = [
    ...(entry ? [{ token: entry.value, permits: 1, expiresAtMs: entry.expiresAtMs }] : []),
    ...[...queue.holders.values()].sort((a, b) => a.expiresAtMs - b.expiresAtMs),
  ]
  return {
    type: 'state',
    kind: visit.kinds()[0] ?? null,
    held: holders.reduce((sum, { permits }) => sum + permits, 0),
    holders: holders.slice(0, mostHolders).map(holder),
    waiters: queue.first(mostShown).map(({ permits, turnUntilMs }) => ({ permits, hasTurn: turnUntilMs !== null })),
    waiting: queue.length,
  }
}
