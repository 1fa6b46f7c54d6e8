import type { NotifierState, ReleaseNotifier } from '@leasehold/core'
import type { BridgeRefusal } from './bridge-endpoint.ts'

/** Tells whether releases are heard: of each cause once, until another comes, and once that it is over. */
export interface Troubles extends Pick<ReleaseNotifier, 'onStateChange'> {
  tell(reason: BridgeRefusal['reason'], status: number, message: string, cause?: unknown): void
  /** The bridge gives no answer of use, again and again. Nobody has to change anything, so `onError` is not told. */
  silent(): void
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
    tell(reason, status, message, cause) {
      if (present?.message === message) return
      const refusal = Object.assign(new Error(message, { cause }), { reason, status })
      become(refusal)
      onError?.(refusal)
    },
    silent() {
      if (!present) become(new Error('The bridge gives no answer of use'))
    },
    over() {
      if (present) become()
    },
    onStateChange(listener: (state: NotifierState) => void) {
      // Its own function, so that the same listener may come twice and each be withdrawn alone.
      const tell = (): void => listener(present ? { type: 'disconnected', cause: present } : { type: 'reconnected' })
      listeners.add(tell)
      if (present) tell()
      return () => listeners.delete(tell)
    },
  }
}
