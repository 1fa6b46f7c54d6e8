import { createLocker, type Locker } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { type RedisSubscriber, type RedisTransport, redisStore } from '@leasehold/core/redis'
import type { Cluster, Redis } from 'ioredis'
import type { OpenOptions } from './connect-ioredis.ts'
import { type ConnectionSettings, isHttp, shownUrl } from './settings.ts'

/** A Redis as the commands use it. Dispose of it when the command ends. */
export interface Connection extends AsyncDisposable {
  readonly store: LeaseStore
  readonly transport: RedisTransport
  readonly locks: Locker
  /** Hears releases; undefined over HTTP. */
  readonly subscriber: RedisSubscriber | undefined
  /** The TCP client; undefined over HTTP. */
  readonly client: Redis | Cluster | undefined
  /** The address it leads to, without secrets. */
  readonly where: string
}

/**
 * Opens the connection, and resolves when Redis answers; over HTTP at once.
 *
 * @throws StoreUnavailableError that says why it cannot be reached, without credentials
 */
export async function openConnection(
  settings: ConnectionSettings,
  signal: AbortSignal,
  options: OpenOptions = {},
): Promise<Connection> {
  const open = isHttp(settings.url) ? await openHttp(settings) : await openTcp(settings, signal, options)
  try {
    const store = redisStore(open.transport, { prefix: settings.prefix })
    const locks = createLocker({ store, name: 'leasehold-cli' })
    return {
      ...open,
      store,
      locks,
      where: shownUrl(settings),
      async [Symbol.asyncDispose]() {
        await locks.close({ grace: 0 })
        open.client?.disconnect()
      },
    }
  } catch (error) {
    // A client that stays open keeps the program from ending.
    open.client?.disconnect()
    throw error
  }
}

type Opened = Pick<Connection, 'transport' | 'subscriber' | 'client'>

async function openHttp({ url, token = '' }: ConnectionSettings): Promise<Opened> {
  const { fetchTransport } = await import('@leasehold/upstash')
  return { transport: fetchTransport({ url, token }), subscriber: undefined, client: undefined }
}

async function openTcp(settings: ConnectionSettings, signal: AbortSignal, options: OpenOptions): Promise<Opened> {
  const [{ connectIoredis }, { ioredisSubscriber, ioredisTransport }] = await Promise.all([
    import('./connect-ioredis.ts'),
    import('@leasehold/ioredis'),
  ])
  const client = await connectIoredis(settings, signal, options)
  return { transport: ioredisTransport(client), subscriber: ioredisSubscriber(client), client }
}
