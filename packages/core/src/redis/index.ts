/** Redis: a store over a transport, a notifier over a subscriber, and the ports that a client's adapter implements. */
export { passingRedisStore } from './pass-on.ts'
export { offerPlainCommands, type PlainCommand } from './plain-commands.ts'
export { type PubsubNotifierOptions, pubsubNotifier } from './pubsub-notifier.ts'
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
export type { RedisSubscriber, SubscriberConnection, SubscriberListener } from './redis-subscriber.ts'
export type { RedisTransport, ScriptCall, ScriptReply } from './redis-transport.ts'
