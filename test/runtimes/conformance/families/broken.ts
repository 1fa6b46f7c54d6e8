import { storeConformance } from '@leasehold/testkit/conformance'
import { beforeAll, describe, it } from 'vitest'
import { memoryUnderTest } from '../../../../packages/core/test/memory-under-test.ts'
import { storeLike } from '../../../support/store-like.ts'
import type { Declare } from '../declare.ts'

/** A store that falsely says it has renewed, and claims whose failure a careless runner would miss. */
export const declare: Declare = () => {
  storeConformance('broken', async () => {
    const opened = memoryUnderTest()
    const store = storeLike(opened.store, { renew: async (requests) => requests.map(() => ({ type: 'renewed' })) })
    return { ...opened, store }
  })
  describe('a hook that fails', () => {
    beforeAll(() => {
      throw new Error('It failed')
    })
    it('leaves its claims without a run', () => undefined)
  })
  it('a skip for no reason', (context) => context.skip())
}
