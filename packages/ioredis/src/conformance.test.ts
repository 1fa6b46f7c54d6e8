import { storeConformance, transportConformance } from '@leasehold/testkit/conformance'
import { redisStoreAccess, startRedis } from '@leasehold/testkit/redis'
import * as ioredis6 from 'ioredis'
import * as ioredis5 from 'ioredis-5'
import * as iovalkey from 'iovalkey'
import { afterAll } from 'vitest'
import { ioredisStore } from './ioredis-store.ts'
import { ioredisTransport } from './ioredis-transport.ts'

const redis = await startRedis()
const prefix = 'conformance:'
afterAll(() => redis.stop())

transportConformance('ioredis 6', async () => over(new ioredis6.Redis(redis.port)))
transportConformance('ioredis 5', async () => over(new ioredis5.Redis(redis.port)))
transportConformance('iovalkey', async () => over(new iovalkey.Redis(redis.port)))

storeConformance('ioredis 6', async () => {
  const client = new ioredis6.Redis(redis.port)
  const store = ioredisStore(client, { prefix, fenceMemory: '2s' })
  return { ...redisStoreAccess([redis], prefix), store, fenceMemoryMs: 2_000, close: () => quit(client) }
})

type Client = Parameters<typeof ioredisTransport>[0] & { quit(): Promise<unknown> }
const over = (client: Client) => ({ transport: ioredisTransport(client), close: () => quit(client) })
const quit = async (client: Client): Promise<void> => void (await client.quit())
