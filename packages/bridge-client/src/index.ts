/** `@leasehold/bridge-client`: release notifications over HTTP, for runtimes that have no TCP and for those that have. */

export type {
  BridgeAnswer,
  BridgeBody,
  BridgeEndpoint,
  BridgeFetch,
  BridgeRefusal,
  BridgeRequest,
  BridgeToken,
} from './bridge-endpoint.ts'
export { type BridgeNotifierOptions, bridgeNotifier } from './bridge-notifier.ts'
