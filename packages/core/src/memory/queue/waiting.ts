import { kindMismatch } from '../../store/kind-mismatch.ts'
import type { Refused } from '../../store/lease-store.ts'
import type {
  LeaveOutcome,
  LeaveRequest,
  LookOutcome,
  LookRequest,
  QueuedAcquireOutcome,
  QueuedAcquireRequest,
} from '../../store/queue.ts'
import { cursorOf, parseToken } from '../../store/token.ts'
import { nameOf } from './lock-queue.ts'
import type { QueueVisit } from './queue-visit.ts'

/** Takes the lock, or enters the waiter into the queue. */
export function acquire(visit: QueueVisit, request: QueuedAcquireRequest): QueuedAcquireOutcome {
  const { queue, keeper, key, nowMs } = visit
  const { acquisitionId, ttlMs, permits, waiter } = request
  visit.begin()
  const subscribers = waiter?.listens ? keeper.inboxes.count(waiter.inbox) : 0
  if (waiter) queue.heard(waiter.inbox, waiter.aliveMs, subscribers)

  const own = visit.holding.tokenOf(acquisitionId)
  if (own !== undefined) {
    // A repeat's lease counts from when the repeat was sent, so the whole ttl must run from here.
    visit.holding.extend(own, ttlMs)
    return granted(own)
  }
  if (keeper.isSpent(key, acquisitionId, nowMs)) return { type: 'spent' }

  queue.front()
  const standing = waiter && queue.find(nameOf(waiter.inbox, waiter.number))
  // A waiter in the queue keeps its place when the capacity changes.
  const refused = standing ? undefined : kindRefused(visit, request)
  if (refused) {
    visit.give()
    return refused
  }
  const take = (): QueuedAcquireOutcome => granted(visit.holding.take({ acquisitionId, ttlMs, permits }))
  const holder = (): string | null => parseToken(visit.holding.first?.token)?.name ?? null
  if (!waiter) {
    if (queue.isFree(permits, visit.holding.permits)) return take()
    visit.give()
    // Perhaps all waiters are dead, which shows only when one of them is notified of its turn.
    if (queue.isFree(permits, visit.holding.permits)) return take()
    const expiresAtMs = visit.holding.first?.expiresAtMs ?? Infinity
    return {
      type: 'held',
      expiresInMs: expiresAtMs === Infinity ? null : Math.ceil(expiresAtMs - nowMs),
      holder: holder(),
    }
  }
  const asking = standing ?? queue.enter(waiter, permits, subscribers)
  if (visit.give(asking)) return take()
  return { type: 'queued', position: queue.position(asking), againInMs: visit.againInMs(), holder: holder() }
}

/** Refuses a request for another kind or capacity than the lock has, as long as anybody has it or waits for it. */
function kindRefused(visit: QueueVisit, { kind, permits }: QueuedAcquireRequest): Refused | undefined {
  const kinds = visit.kinds()
  const other = kinds.find(({ name, capacity }) => name !== kind.name || capacity !== kind.capacity)
  if (other) return kindMismatch(kind, other)
  if (permits > kind.capacity) return kindMismatch({ ...kind, capacity: permits }, kind)
  if (kinds.length === 0) visit.become(kind)
  return undefined
}

/** Keeps a process's inbox alive and moves the queue on. Returns which of its waiters have the turn or are missing. */
export function look(visit: QueueVisit, { inbox, aliveMs, numbers }: LookRequest): LookOutcome {
  const { queue, keeper } = visit
  visit.begin()
  queue.heard(inbox, aliveMs, keeper.inboxes.count(inbox))
  visit.give()
  const missing = numbers.filter((number) => !queue.find(nameOf(inbox, number)))
  return { type: 'looked', turns: queue.withTurn(inbox), missing, againInMs: visit.againInMs() }
}

/** Removes a waiter, void or not, and gives back what its tries have taken. */
export function leave(visit: QueueVisit, { inbox, number, acquisitionId }: LeaveRequest): LeaveOutcome {
  const { queue, keeper, key, nowMs } = visit
  visit.begin()
  const waiter = queue.named(nameOf(inbox, number))
  if (waiter) queue.remove(waiter)
  const token = acquisitionId && visit.holding.tokenOf(acquisitionId)
  if (token) visit.holding.keep(token, 0)
  const before = !token && acquisitionId && keeper.endingOf(key, acquisitionId, nowMs) === 'released'
  visit.pass(token || undefined)
  return { type: waiter || token || before ? 'left' : 'absent' }
}

const granted = (token: string): QueuedAcquireOutcome => ({ type: 'granted', token, fence: Number(cursorOf(token)) })
