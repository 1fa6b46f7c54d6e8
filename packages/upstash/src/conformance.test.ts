import { storeConformance, transportConformance } from '@leasehold/testkit/conformance'
import { redisStoreAccess } from '@leasehold/testkit/redis'
import { Redis } from '@upstash/redis'
import { Redis as Redis128 } from 'upstash-redis-1-28'
import { Redis as Redis138 } from 'upstash-redis-1-38'
import { afterAll } from 'vitest'
import { startTestGateway } from '../test/gateway.ts'
import { fetchStore } from './fetch-store.ts'
import { fetchTransport } from './fetch-transport.ts'
import { upstashStore } from './upstash-store.ts'
import { upstashTransport } from './upstash-transport.ts'

const gateway = await startTestGateway()
const { url, token } = gateway
const options = { prefix: 'conformance:', fenceMemory: '3s' } as const
const close = async (): Promise<void> => undefined
afterAll(() => gateway[Symbol.asyncDispose]())

transportConformance('fetch', async () => ({ transport: fetchTransport({ url, token }), close }))
transportConformance('@upstash/redis', async () => ({ transport: upstashTransport(new Redis({ url, token })), close }))
// This client has only one major line, so these are its two newest minor versions, and the oldest that is supported.
transportConformance('@upstash/redis 1.38', async () => ({
  transport: upstashTransport(new Redis138({ url, token })),
  close,
}))
transportConformance('@upstash/redis 1.28', async () => ({
  transport: upstashTransport(new Redis128({ url, token })),
  close,
}))

const direct = redisStoreAccess([gateway.redis], options.prefix)
const uncounted = 'over HTTP nobody knows how many servers there are behind'
const skip = { ...direct.skip, 'subscriber-count': uncounted, 'inbox-count': uncounted }
const access = { ...direct, skip, fenceMemoryMs: 3_000, close }
const sideBySide = { concurrent: true }
storeConformance('fetch', async () => ({ ...access, store: fetchStore({ url, token, ...options }) }), sideBySide)
storeConformance(
  '@upstash/redis',
  async () => ({ ...access, store: upstashStore(new Redis({ url, token }), options) }),
  sideBySide,
)
