/** `@leasehold/bridge-client`: release notifications over HTTP, for runtimes with TCP and without. */

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
