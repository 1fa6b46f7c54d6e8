import { createLocker } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import { expect, it } from 'vitest'
import { elapse } from '../support/scale.ts'
import { startCrew } from './crew.ts'

it('a crew notices that two are at work at once, as where each process has a store of its own', async () => {
  const apart = [0, 1].map(() => createLocker({ store: memoryStore() }))
  const crew = startCrew(apart, 'apart')
  await crew.turns(20)
  const { faults } = await crew.stop()
  const kinds = new Set(faults.map((fault) => fault.replace(/:.*/, '')))
  // A semaphore of two takes both, and each record is claimed once.
  expect(kinds).toEqual(
    new Set(['lock', 'renewal', 'queue', 'priority', 'read/write lock', 'session', 'set', 'set over several slots']),
  )
  await Promise.all(apart.map((locks) => locks.close({ grace: 0 })))
})

it('a crew ends when its lockers are closed', async () => {
  const locks = createLocker({ store: memoryStore() })
  const crew = startCrew([locks], 'closed')
  await crew.turns(2)
  await locks.close({ grace: 0 })
  await elapse(50)
  const { turns, faults } = await crew.stop()
  // What was at work may have failed, once. Nothing was begun again and again.
  expect(faults.length).toBeLessThanOrEqual(Object.keys(turns).length)
})
