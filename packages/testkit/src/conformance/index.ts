export { type ConformanceOptions, recordConformance, storeConformance } from './store-conformance.ts'
export type {
  Listening,
  StoreAdmin,
  StoreCapability,
  StoreEntry,
  StoreUnderTest,
} from './store-under-test.ts'
export { transportConformance } from './transport-conformance.ts'
export type {
  TransportCapability,
  TransportUnderTest,
  UnconnectedTransport,
} from './transport-under-test.ts'
