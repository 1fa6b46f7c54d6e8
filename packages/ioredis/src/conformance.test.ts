import { recordConformance, storeConformance, transportConformance } from '@leasehold/testkit/conformance'
import { redisStoreAccess, startRedis } from '@leasehold/testkit/redis'
import * as ioredis6 from 'ioredis'
import * as ioredis5 from 'ioredis-5'
import * as iovalkey from 'iovalkey'
import { afterAll } from 'vitest'
import { soak } from '../../../test/support/scale.ts'
import { unconnected } from '../test/unconnected.ts'
import { ioredisStore } from './ioredis-store.ts'
import { ioredisTransport } from './ioredis-transport.ts'

const redis = await startRedis()
const prefix = 'conformance:'
afterAll(() => redis.stop())

const retryStrategy = (): number => 20
transportConformance('ioredis 6', async () => over((way) => new ioredis6.Redis({ ...way, retryStrategy })))
transportConformance('ioredis 5', async () => over((way) => new ioredis5.Redis({ ...way, retryStrategy })))
transportConformance('iovalkey', async () => over((way) => new iovalkey.Redis({ ...way, retryStrategy })))

const sideBySide = { concurrent: true }
// The soak runs the whole suite of a store on each.
const inOthers = soak ? storeConformance : recordConformance
storeConformance('ioredis 6', async () => storeOver(new ioredis6.Redis(redis.port)), sideBySide)
inOthers('ioredis 5', async () => storeOver(new ioredis5.Redis(redis.port)), sideBySide)
inOthers('iovalkey', async () => storeOver(new iovalkey.Redis(redis.port)), sideBySide)

function storeOver(client: Client) {
  const store = ioredisStore(client, { prefix, fenceMemory: '3s' })
  return { ...redisStoreAccess([redis], prefix), store, fenceMemoryMs: 3_000, close: () => quit(client) }
}

type Client = ReturnType<Parameters<typeof unconnected>[1]> & { quit(): Promise<unknown> }
function over(create: (way: { readonly host: string; readonly port: number }) => Client) {
  const client = create({ host: redis.host, port: redis.port })
  return {
    transport: ioredisTransport(client),
    openUnconnected: () => unconnected(redis, create),
    close: () => quit(client),
  }
}
const quit = async (client: Client): Promise<void> => void (await client.quit())
