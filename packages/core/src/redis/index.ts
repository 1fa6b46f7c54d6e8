/** Redis: the store over a transport, and the port a client's adapter implements. */
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
export type { RedisTransport, ScriptCall, ScriptReply } from './redis-transport.ts'
