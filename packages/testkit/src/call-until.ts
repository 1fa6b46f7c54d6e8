import type { CallDeadline } from '@leasehold/core/adapter'

/**
 * Makes the deadline that a store or transport takes from a signal of your own: it is over when the signal is aborted.
 */
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
