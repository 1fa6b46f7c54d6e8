import type { CallDeadline } from '@leasehold/core/adapter'

/** What a store or transport is told of its caller's time, by a signal of one's own: over when that is aborted. */
export const callUntil = (signal: AbortSignal, withinMs = 60_000): CallDeadline => ({
  withinMs,
  get isOver() {
    return signal.aborted
  },
  onOver(callback) {
    const told = (): void => callback()
    if (signal.aborted) callback()
    else signal.addEventListener('abort', told, { once: true })
    return () => signal.removeEventListener('abort', told)
  },
  signal,
})
