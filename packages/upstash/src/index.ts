/** `@leasehold/upstash`: locks over HTTP, through an `@upstash/redis` client or through fetch alone. */
export { type FetchStoreOptions, fetchStore } from './fetch-store.ts'
export { fetchTransport } from './fetch-transport.ts'
export type { Fetch, FetchAnswer, FetchRequest, RestEndpoint } from './rest-endpoint.ts'
export type { UpstashClient } from './upstash-client.ts'
export { upstashStore } from './upstash-store.ts'
export { upstashTransport } from './upstash-transport.ts'
