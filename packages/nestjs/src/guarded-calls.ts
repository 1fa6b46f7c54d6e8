import { InvalidOptionError, LeaseholdError } from '@leasehold/core'
import type { LockCalls } from '@leasehold/core/locked'
import { leaseScope } from '#process-state'
import { ApplicationClosingException } from './application-closing-exception.ts'
import { namedMistake } from './named-mistake.ts'
import { warnOfClose } from './warn-of-close.ts'

/** The method whose calls are guarded. */
interface Guarded {
  /** The names of its class and the method, such as `Orders.process`. */
  readonly method: string
  /** Whether a call that cannot run returns undefined. */
  readonly skips: boolean
}

/**
 * The calls of a locker, with the lease in the async context of the work, and errors that suit Nest.
 */
export function guardedCalls(calls: LockCalls, { method, skips }: Guarded): LockCalls {
  return {
    async withLock(key, options, work) {
      let began = false
      try {
        return await calls.withLock(key, options, async (lease) => {
          began = true
          const end = warnOfClose(method, lease)
          try {
            return await leaseScope.run(lease, () => work(lease))
          } finally {
            end()
          }
        })
      } catch (error) {
        // An error of the method itself is passed on as it is.
        if (began) throw error
        if (error instanceof InvalidOptionError) throw namedMistake(error, method, { ...options, key })
        if (!isClosed(error)) throw error
        if (!skips) throw new ApplicationClosingException(error)
        return undefined as Awaited<ReturnType<typeof work>>
      }
    },
  }
}

const isClosed = (error: unknown): error is LeaseholdError => error instanceof LeaseholdError && error.code === 'CLOSED'
