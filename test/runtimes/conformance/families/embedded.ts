import { storeConformance } from '@leasehold/testkit/conformance'
import { memoryUnderTest } from '../../../../packages/core/test/memory-under-test.ts'
import type { Declare } from '../declare.ts'

export const declare: Declare = () => storeConformance('embedded', async () => memoryUnderTest())
