import { storeConformance, transportConformance } from '@leasehold/testkit/conformance'
import { upstashStore, upstashTransport } from '@leasehold/upstash'
import { type Declare, sideBySide, storeOptions } from '../declare.ts'
import { gatewayAccess } from '../gateway-access.ts'

const close = async (): Promise<void> => undefined

export const declare: Declare = ({ gateway }, client) => {
  const { Redis } = client as typeof import('@upstash/redis')
  const access = { ...gatewayAccess(gateway, storeOptions.prefix), fenceMemoryMs: 3_000, close }
  const store = upstashStore(new Redis(gateway), storeOptions)
  transportConformance('@upstash/redis', async () => ({ transport: upstashTransport(new Redis(gateway)), close }))
  storeConformance('@upstash/redis', async () => ({ ...access, store }), sideBySide)
}
