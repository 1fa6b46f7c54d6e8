import type { NotifierState, ReleaseNotifier } from '@leasehold/core/adapter'
import type { BridgeRefusal } from './bridge-endpoint.ts'

/** Reports whether releases are heard: each cause once, until another comes, and the end of the trouble once. */
export interface Troubles extends Pick<ReleaseNotifier, 'onStateChange'> {
  /**
   * Releases are not heard. Without a `reason`, nobody has to change anything: `onError` is not called, and a cause
   * that has already been reported stays the cause.
   */
  tell(message: string, cause: unknown, reason?: BridgeRefusal['reason'], status?: number): void
  over(): void
}

export function troubles(onError: ((refusal: BridgeRefusal) => void) | undefined): Troubles {
  const listeners = new Set<() => void>()
  let present: Error | undefined
  const become = (cause?: Error): void => {
    present = cause
    for (const tell of listeners) tell()
  }
  return {
    tell(message, cause, reason, status) {
      if (present && (!reason || present.message === message)) return
      const refusal = Object.assign(new Error(message, { cause }), reason && { reason, status })
      become(refusal)
      if (reason) onError?.(refusal as BridgeRefusal)
    },
    over() {
      if (present) become()
    },
    onStateChange(listener: (state: NotifierState) => void) {
      // A new function, so that the same listener may be added twice and each removed separately.
      const tell = (): void => listener(present ? { type: 'disconnected', cause: present } : { type: 'reconnected' })
      listeners.add(tell)
      if (present) tell()
      return () => listeners.delete(tell)
    },
  }
}
