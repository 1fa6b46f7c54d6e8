import { createLocker, type Locker, type LockerEvent, type LockerOptions } from '@leasehold/core'
import type { RedisTransport } from '@leasehold/core/redis'
import { onTestFinished } from 'vitest'
import type { Connection } from './clients.ts'

/** What another process would have: a locker over its own connection. */
export interface Process {
  readonly locks: Locker
  readonly transport: RedisTransport
  /** The events of the locker. */
  readonly events: LockerEvent[]
}

export function openProcess(
  connection: Connection,
  options: Partial<LockerOptions> = {},
  /** Gets the function that ends the process; by default it ends with the test. */
  atEnd: (end: () => Promise<void>) => unknown = onTestFinished,
): Process {
  const { store, notifier, transport, close } = connection
  const events: LockerEvent[] = []
  const locks = createLocker({ store, notifier, onEvent: (event) => events.push(event), ...options })
  atEnd(async () => {
    await locks.close({ grace: 0 })
    close()
  })
  return { locks, transport, events }
}
