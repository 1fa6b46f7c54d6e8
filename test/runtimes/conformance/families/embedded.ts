import { storeConformance } from '@leasehold/testkit/conformance'
import type { Declare } from '../declare.ts'
import { memoryUnderTest } from '../memory-under-test.ts'

export const declare: Declare = () => storeConformance('embedded', async () => memoryUnderTest())
