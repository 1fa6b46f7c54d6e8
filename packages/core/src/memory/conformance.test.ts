import { storeConformance } from '@leasehold/testkit/conformance'
import { memoryUnderTest } from '../../test/memory-under-test.ts'

storeConformance('memory', async () => memoryUnderTest())
