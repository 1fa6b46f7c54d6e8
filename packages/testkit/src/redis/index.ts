/** Real Redis servers for tests: found or installed, started, disturbed and cleaned up. Needs Node. */
export { connectRedisAdmin, type RedisAdmin, type RedisAdminOptions } from './redis-admin.ts'
export { ensureRedis, findRedis, type RedisProgram } from './redis-binary.ts'
export { type RedisCluster, type RedisClusterOptions, startRedisCluster } from './redis-cluster.ts'
export { type RedisSentinel, type RedisSentinelOptions, startRedisSentinel } from './redis-sentinel.ts'
export { type RedisServer, type RedisServerOptions, startRedis } from './redis-server.ts'
export { redisStoreAccess } from './redis-store-access.ts'
export type { RedisReply } from './resp.ts'
export type { SlotMove } from './slot-move.ts'
