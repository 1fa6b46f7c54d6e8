import { type StoreUnderTest, storeConformance } from '@leasehold/testkit/conformance'

export const declare = (open: () => Promise<StoreUnderTest>): void => storeConformance('mine', open)
