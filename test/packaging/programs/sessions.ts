import { createLocker, InvalidOptionError } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import { type SessionEvent, sessions } from '@leasehold/sessions'

/** Two users want the same role; the second learns who has it. */
export async function main(): Promise<string> {
  const locks = createLocker({ store: memoryStore() })
  const told: SessionEvent['type'][] = []
  const registry = sessions(locks, { onEvent: ({ type }) => told.push(type) })
  const asked = { resource: 'doc', role: 'writer', sessionId: 'tab' }
  await registry.enter({ ...asked, userId: 'ada' })
  const second = await registry.enter({ ...asked, userId: 'bob' })
  await registry.close()
  await locks.close()
  try {
    sessions(locks, { ttl: 0 })
  } catch (error) {
    if (error instanceof InvalidOptionError && second.type === 'held') {
      return `${second.by.userId} ${told.join(' ')} ${error.option}`
    }
  }
  return 'no error'
}
