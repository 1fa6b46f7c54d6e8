import { env } from 'cloudflare:workers'
import { storeConformance, transportConformance } from '@leasehold/testkit/conformance'
import { fetchStore, fetchTransport, upstashStore, upstashTransport } from '@leasehold/upstash'
import { Redis } from '@upstash/redis/cloudflare'
import { gatewayAccess } from './gateway-access.ts'

const gateway = { url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN }
const options = { prefix: 'conformance:', fenceMemory: '3s' } as const
const close = async (): Promise<void> => undefined

transportConformance('fetch', async () => ({ transport: fetchTransport(gateway), close }))
transportConformance('@upstash/redis', async () => ({ transport: upstashTransport(new Redis(gateway)), close }))

const access = { ...gatewayAccess(gateway, options.prefix), fenceMemoryMs: 3_000, close }
const sideBySide = { concurrent: true }
storeConformance('fetch', async () => ({ ...access, store: fetchStore({ ...gateway, ...options }) }), sideBySide)
storeConformance(
  '@upstash/redis',
  async () => ({ ...access, store: upstashStore(new Redis(gateway), options) }),
  sideBySide,
)
