/** `@leasehold/bridge/gateway`: the REST protocol of `@upstash/redis` over a Redis of your own. */
export { defaultCommands } from './command-list.ts'
export { createGateway } from './create-gateway.ts'
export type { GatewayOptions } from './gateway-options.ts'
export {
  type GatewayCommand,
  type GatewayRedis,
  type GatewayReply,
  type RedisErrorReply,
  type Topic,
  type TopicSubscriber,
  UnansweredError,
  type Unsubscribe,
} from './gateway-redis.ts'
