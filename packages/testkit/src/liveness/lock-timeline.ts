import type { LockRecord, RecordedWait } from './lock-record.ts'

/** The time between two moments. */
export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

export type FreedBy = 'released' | 'revoked' | 'expired'

/** An entry of the store, from its grant to its end. */
export interface Entry extends Span {
  readonly process: string
  readonly fence: number
  readonly fences: number
  /** The ttl of its last grant or extension. */
  readonly ttlMs: number
  /** Undefined while it lasts. */
  readonly freedBy: FreedBy | undefined
}

/** A time in which nobody had the lock, according to the store. */
export interface FreeSpan extends Span {
  /** The entry that ended before; undefined at the beginning. */
  readonly entry: Entry | undefined
}

/** The entries of one key, in order. */
export function entriesOf({ changes, endMs }: LockRecord, key: string): readonly Entry[] {
  const entries: Entry[] = []
  let open: (Omit<Entry, 'toMs' | 'freedBy'> & { readonly expiresAtMs: number }) | undefined
  const close = (atMs: number, freedBy?: FreedBy): void => {
    if (!open) return
    const { expiresAtMs, ...entry } = open
    const expired = expiresAtMs <= atMs
    entries.push({ ...entry, toMs: expired ? expiresAtMs : atMs, freedBy: expired ? 'expired' : freedBy })
    open = undefined
  }
  for (const change of changes) {
    if (change.key !== key) continue
    const { atMs } = change
    if (change.type === 'granted') {
      const { process, fence, fences, expiresAtMs } = change
      close(atMs, 'released')
      open = { process, fence, fences, fromMs: atMs, ttlMs: expiresAtMs - atMs, expiresAtMs }
    } else if (change.type === 'extended') {
      if (open) open = { ...open, ttlMs: change.expiresAtMs - atMs, expiresAtMs: change.expiresAtMs }
    } else {
      close(atMs, change.type)
    }
  }
  close(endMs)
  return entries
}

/** The times between entries. */
export function freeSpansOf(entries: readonly Entry[], endMs: number): readonly FreeSpan[] {
  const spans: FreeSpan[] = []
  let entry: Entry | undefined
  for (const next of [...entries, undefined]) {
    const span = { fromMs: entry?.toMs ?? 0, toMs: next?.fromMs ?? endMs, entry }
    if (span.toMs > span.fromMs) spans.push(span)
    entry = next
  }
  return spans
}

/** The time in which a caller had the lease, as far as it knew. */
export function heldSpan({ end, endedAtMs, leftAtMs }: RecordedWait, endMs: number): readonly Span[] {
  return end === 'granted' && endedAtMs !== undefined ? [{ fromMs: endedAtMs, toMs: leftAtMs ?? endMs }] : []
}

export const lengthMs = ({ fromMs, toMs }: Span): number => Math.max(0, toMs - fromMs)

export const overlap = (one: Span, other: Span): Span => ({
  fromMs: Math.max(one.fromMs, other.fromMs),
  toMs: Math.min(one.toMs, other.toMs),
})

/** Whether two spans have a moment in common. */
export const touches = (one: Span, other: Span): boolean => one.fromMs <= other.toMs && other.fromMs <= one.toMs

/** The pieces of a span that are left after `taken` is removed. */
export function without(span: Span, taken: readonly Span[]): readonly Span[] {
  const pieces: Span[] = []
  let { fromMs } = span
  for (const each of [...taken].sort((a, b) => a.fromMs - b.fromMs)) {
    if (each.toMs <= fromMs || each.fromMs >= span.toMs) continue
    if (each.fromMs > fromMs) pieces.push({ fromMs, toMs: each.fromMs })
    fromMs = Math.max(fromMs, each.toMs)
  }
  if (fromMs < span.toMs) pieces.push({ fromMs, toMs: span.toMs })
  return pieces
}

export const totalMs = (spans: readonly Span[]): number => spans.reduce((total, span) => total + lengthMs(span), 0)
