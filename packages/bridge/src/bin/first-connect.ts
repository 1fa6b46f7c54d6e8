import type { Redis } from 'ioredis'

/** Connects for the first time. @throws Error that says why it cannot, without credentials. */
export async function firstConnect(redis: Redis): Promise<void> {
  const { host, port } = redis.options
  let reason = ''
  const onError = ({ message }: Error): void => {
    reason ||= message
  }
  redis.on('error', onError)
  try {
    await redis.connect()
    // If the user may not select its database, ioredis resolves anyway and stays in database 0, where every lock is
    // free.
    if (reason) throw new Error(reason)
  } catch (error) {
    throw new Error(`cannot use Redis at ${host}:${port}: ${reason || (error as Error).message}`)
  } finally {
    redis.off('error', onError)
  }
}
