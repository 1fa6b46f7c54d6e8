import { LeaseholdError } from '../errors.ts'
import type { Refused } from './lease-store.ts'
import type { QueueKind } from './queue.ts'

/** The refusal of a request for a lock of another kind or capacity. It names what was asked for and what was found. */
export function kindMismatch(asked: QueueKind, found: QueueKind): Refused {
  const message =
    asked.name === found.name
      ? `The key is a ${found.name} lock for ${found.capacity} permits, not ${asked.capacity}; ask for as many, or resize it`
      : `The key is a lock of the kind "${found.name}", not "${asked.name}"; use another key`
  return { type: 'refused', error: new LeaseholdError('KIND_MISMATCH', message) }
}
