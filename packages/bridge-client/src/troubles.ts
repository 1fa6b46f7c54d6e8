import type { BridgeRefusal } from './bridge-endpoint.ts'

/** Tells those who asked why releases are not heard: once for each cause, until another comes or it is over. */
export interface Troubles {
  tell(reason: BridgeRefusal['reason'], status: number, message: string, cause?: unknown): void
  over(): void
  /** What the notifier promises by the same name. */
  onUnheard(listener: (cause: unknown) => void): () => void
}

export function troubles(onError: ((refusal: BridgeRefusal) => void) | undefined): Troubles {
  const listeners = new Set<(cause: unknown) => void>()
  let present: BridgeRefusal | undefined
  return {
    tell(reason, status, message, cause) {
      if (present?.message === message) return
      const refusal = Object.assign(new Error(message, { cause }), { reason, status })
      present = refusal
      for (const listener of listeners) listener(refusal)
      onError?.(refusal)
    },
    over() {
      present = undefined
    },
    onUnheard(listener) {
      // Its own function, so that the same listener may come twice and each be withdrawn alone.
      const told = (cause: unknown): void => listener(cause)
      listeners.add(told)
      if (present) told(present)
      return () => listeners.delete(told)
    },
  }
}
