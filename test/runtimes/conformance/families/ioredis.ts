import { ioredisStore, ioredisTransport } from '@leasehold/ioredis'
import { storeConformance, transportConformance, type UnconnectedTransport } from '@leasehold/testkit/conformance'
import { type Address, type Declare, sideBySide, storeOptions } from '../declare.ts'
import { setLink, tcpAccess } from '../tcp-access.ts'

export const declare: Declare = ({ redis, link }, client) => {
  const { Redis } = client as typeof import('ioredis')
  const open = ({ host, port }: Address) => new Redis({ host, port, retryStrategy: () => 20 })

  transportConformance('ioredis', async () => {
    const connected = open(redis)
    const close = async (): Promise<void> => void (await connected.quit())
    return { transport: ioredisTransport(connected), openUnconnected, close }
  })

  storeConformance(
    'ioredis',
    async () => {
      const connected = open(redis)
      const access = await tcpAccess(redis, storeOptions.prefix)
      const close = async (): Promise<void> => {
        await connected.quit()
        await access.close()
      }
      return { ...access, store: ioredisStore(connected, storeOptions), fenceMemoryMs: 3_000, close }
    },
    sideBySide,
  )

  async function openUnconnected(): Promise<UnconnectedTransport> {
    await setLink(link, 'refuse')
    const unconnected = open(link)
    unconnected.on('error', () => undefined)
    return {
      transport: ioredisTransport(unconnected),
      connect: () => setLink(link, 'accept'),
      listeners: () => unconnected.listenerCount('end') + unconnected.listenerCount('error'),
      [Symbol.asyncDispose]: async () => unconnected.disconnect(),
    }
  }
}
