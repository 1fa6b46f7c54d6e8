/** Redis: a store over a transport, a notifier over a subscriber, and the ports that a client's adapter implements. */
export { offerReplicaWait } from './offer-replica-wait.ts'
export { passingRedisStore } from './pass-on.ts'
export { type PubsubNotifierOptions, pubsubNotifier } from './pubsub-notifier.ts'
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
export type { RedisSubscriber, SubscriberConnection, SubscriberListener } from './redis-subscriber.ts'
export type { RedisTransport, ScriptCall, ScriptReply } from './redis-transport.ts'
export type { ConfirmedReply, ConfirmedRun, ReplicaWait } from './replica-wait.ts'
export { type ReplicaOptions, waitForReplicas } from './wait-for-replicas.ts'
