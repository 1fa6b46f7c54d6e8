import { Redis } from 'ioredis'

export interface ClientOptions {
  readonly enableAutoPipelining?: boolean
}

/** The client of all contestants that use ioredis, with its defaults unless a contestant says otherwise. */
export async function connectIoredis(port: number, options: ClientOptions = {}): Promise<Redis> {
  const redis = new Redis({ port, host: '127.0.0.1', ...options })
  await redis.ping()
  return redis
}
