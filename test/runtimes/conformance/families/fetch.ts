import { storeConformance, transportConformance } from '@leasehold/testkit/conformance'
import { fetchStore, fetchTransport } from '@leasehold/upstash'
import { type Declare, sideBySide, storeOptions } from '../declare.ts'
import { gatewayAccess } from '../gateway-access.ts'

const close = async (): Promise<void> => undefined

export const declare: Declare = ({ gateway }) => {
  const access = { ...gatewayAccess(gateway, storeOptions.prefix), fenceMemoryMs: 3_000, close }
  const store = fetchStore({ ...gateway, ...storeOptions })
  transportConformance('fetch', async () => ({ transport: fetchTransport(gateway), close }))
  storeConformance('fetch', async () => ({ ...access, store }), sideBySide)
}
