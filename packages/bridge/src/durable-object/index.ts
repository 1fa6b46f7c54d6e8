/** `@leasehold/bridge/durable-object`: the bridge inside Cloudflare, where Redis is reachable over TCP. Needs `nodejs_compat`. */
export { type BridgeHandler, bridgeHandler } from './bridge-handler.ts'
export { type BridgeObject, type BridgeObjectClass, bridgeObject } from './bridge-object.ts'
export type { BridgeObjectSettings } from './bridge-settings.ts'
export { type BridgeNamespace, type BridgeStub, type BridgeStubOptions, bridgeStub } from './bridge-stub.ts'
