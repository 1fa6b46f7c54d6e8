import { randomBytes } from 'node:crypto'
import { startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'

/** The Redis of this run. The demo uses only keys under `prefix`, which nobody has used before. */
export interface DemoRedis {
  readonly url: string
  readonly prefix: string
  readonly client: Redis
  /** How it was found, for the output. */
  readonly description: string
  /** Whether it ends with the demo. */
  readonly own: boolean
  close(): Promise<void>
}

export interface Embedded {
  readonly embedded: true
  readonly reason: string
}

/**
 * The Redis that `REDIS_URL` names; else a server that is found or installed; else the embedded store.
 *
 * @throws Error if the named one does not answer: using another one instead would be a surprise.
 */
export async function chooseRedis(
  named: string | undefined,
  say: (text: string) => void,
): Promise<DemoRedis | Embedded> {
  if (named) return connect(named, 'the Redis that REDIS_URL names', false)
  say('No REDIS_URL: looking for a Redis server to start (installing one can take a minute) …')
  try {
    // As a lock's server should be set up: it knows its locks after a restart.
    const server = await startRedis({ args: ['--appendonly', 'yes'] })
    const redis = await connect(server.url, `a Redis started for this demo on port ${server.port}`, true)
    return {
      ...redis,
      async close() {
        await redis.close()
        await server.stop()
      },
    }
  } catch (error) {
    return { embedded: true, reason: (error as Error).message }
  }
}

async function connect(url: string, description: string, own: boolean): Promise<DemoRedis> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, commandTimeout: 5_000 })
  let problem: Error | undefined
  client.on('error', (error: Error) => {
    problem = error
  })
  try {
    await client.connect()
    await client.ping()
  } catch (error) {
    client.disconnect()
    const { message } = problem ?? (error as Error)
    throw new Error(`Redis (${description}) does not answer: ${message || 'connection refused'}`, { cause: error })
  }
  const prefix = `leasehold-demo-${randomBytes(4).toString('hex')}:`
  return { url, prefix, client, description, own, close: async () => client.disconnect() }
}
