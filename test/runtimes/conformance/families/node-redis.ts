import { type NodeRedisConnection, nodeRedisStore, nodeRedisTransport } from '@leasehold/node-redis'
import { storeConformance, transportConformance, type UnconnectedTransport } from '@leasehold/testkit/conformance'
import { type Address, type Declare, sideBySide, storeOptions } from '../declare.ts'
import { setLink, tcpAccess } from '../tcp-access.ts'

/** The common interface of the versions. */
interface Client extends NodeRedisConnection {
  connect(): Promise<unknown>
  listenerCount(event: string): number
  /** Missing in node-redis 4, where `disconnect` closes at once. */
  destroy?(): void
  disconnect(): Promise<unknown>
}

type CreateClient = (options: { readonly socket: Address & { readonly reconnectStrategy: number } }) => Client

export const declare: Declare = ({ redis, link }, module) => {
  const { createClient } = module as { readonly createClient: CreateClient }
  function create({ host, port }: Address): Client {
    const client = createClient({ socket: { host, port, reconnectStrategy: 20 } })
    client.on('error', () => undefined)
    return client
  }
  async function connected(): Promise<Client> {
    const client = create(redis)
    await client.connect()
    return client
  }

  transportConformance('node-redis', async () => {
    const client = await connected()
    return { transport: nodeRedisTransport(client), openUnconnected, close: () => close(client) }
  })

  storeConformance(
    'node-redis',
    async () => {
      const client = await connected()
      const access = await tcpAccess(redis, storeOptions.prefix)
      const closeBoth = async (): Promise<void> => {
        await close(client)
        await access.close()
      }
      return { ...access, store: nodeRedisStore(client, storeOptions), fenceMemoryMs: 3_000, close: closeBoth }
    },
    sideBySide,
  )

  async function openUnconnected(): Promise<UnconnectedTransport> {
    await setLink(link, 'refuse')
    const client = create(link)
    const connecting = client.connect().catch(() => undefined)
    return {
      transport: nodeRedisTransport(client),
      connect: () => setLink(link, 'accept'),
      listeners: () => ['ready', 'end', 'error'].reduce((sum, event) => sum + client.listenerCount(event), 0),
      async [Symbol.asyncDispose]() {
        await close(client)
        await connecting
      },
    }
  }
}

async function close(client: Client): Promise<void> {
  if (client.destroy) client.destroy()
  else await client.disconnect()
}
