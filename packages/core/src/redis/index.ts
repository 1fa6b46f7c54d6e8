/** Redis: the store over a transport, the notifier over a subscriber, and the ports a client's adapter implements. */
export { type PubsubNotifierOptions, pubsubNotifier } from './pubsub-notifier.ts'
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
export type { RedisSubscriber, SubscriberConnection, SubscriberListener } from './redis-subscriber.ts'
export type { RedisTransport, ScriptCall, ScriptReply } from './redis-transport.ts'
