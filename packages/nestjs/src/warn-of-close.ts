import { type Lease, LeaseLostError } from '@leasehold/core'
import { Logger } from '@nestjs/common'

/**
 * Warns when the lock of a run is given back although it still runs, because the application closes and its grace is over. From then
 * on another instance may run the method, too.
 *
 * @param method its name, for the warning
 * @returns ends this, once the method has
 */
export function warnOfClose(method: string, { key, signal }: Lease): () => void {
  const onLost = (): void => {
    const { reason } = signal
    if (!(reason instanceof LeaseLostError) || reason.reason !== 'closed') return
    const text = `${method} still runs, and the grace of the closing application is over: its lock is given back now`
    new Logger('Leasehold').warn(`${text}; allow a longer grace (lock "${key}")`)
  }
  signal.addEventListener('abort', onLost)
  return () => signal.removeEventListener('abort', onLost)
}
