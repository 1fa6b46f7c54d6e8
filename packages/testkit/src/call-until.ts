import type { CallDeadline } from '@leasehold/core/adapter'

/**
 * Makes the deadline that a store or transport takes from a signal of your own: it is over when the signal is aborted.
 */
export function callUntil(signal: AbortSignal, withinMs = 60_000): CallDeadline {
  const withdrawals = new Map<object, () => void>()

  function onOver(callback: () => void): () => void {
    const told = (): void => callback()
    if (signal.aborted) callback()
    else signal.addEventListener('abort', told, { once: true })
    return () => signal.removeEventListener('abort', told)
  }

  return {
    withinMs,
    get isOver() {
      return signal.aborted
    },
    onOver,
    add(listener) {
      if (signal.aborted) listener.onSpanEnd()
      else {
        const withdraw = onOver(() => {
          withdrawals.delete(listener)
          listener.onSpanEnd()
        })
        withdrawals.set(listener, withdraw)
      }
    },
    remove(listener) {
      withdrawals.get(listener)?.()
      withdrawals.delete(listener)
    },
    signal,
  }
}
