import { createClient, type RedisClientType } from 'redis'

export interface NodeRedisOptions {
  /** Applies to each command; the client's own default is five seconds. */
  readonly commandOptions?: { readonly timeout: number | undefined }
}

/** The client of all contestants that use node-redis, with its defaults unless a contestant says otherwise. */
export async function connectNodeRedis(port: number, options: NodeRedisOptions = {}): Promise<RedisClientType> {
  const redis: RedisClientType = createClient({ socket: { port, host: '127.0.0.1' }, ...options } as object)
  redis.on('error', (error) => console.error(error))
  await redis.connect()
  return redis
}
