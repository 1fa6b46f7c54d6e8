import { type Lease, LeaseLostError } from '@leasehold/core'
import { Logger } from '@nestjs/common'

/**
 * Warns when a run's lock is released while it is still running, because the application is closing and its grace is
 * over. From then on another instance may run the method, too.
 *
 * @param method its name, for the warning
 * @returns a function that ends this, once the method has ended
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
