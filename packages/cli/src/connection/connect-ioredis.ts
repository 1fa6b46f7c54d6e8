import { StoreUnavailableError } from '@leasehold/core'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { type ConnectionSettings, shownUrl } from './settings.ts'

/** How long connecting, and each answer, may take, in milliseconds. Somebody is waiting at the screen. */
const unansweredMs = 5_000

/** The pause before reconnecting, once it was connected, in milliseconds. */
const retryMs = 500

const options = {
  lazyConnect: true,
  // It sends INFO, which a user with few permissions may not.
  enableReadyCheck: false,
  connectTimeout: unansweredMs,
  // Ends a connection that has died silently.
  socketTimeout: unansweredMs,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  disconnectTimeout: 0,
} satisfies RedisOptions

export interface OpenOptions {
  /** Whether it reconnects by itself when the connection is lost; default false. */
  readonly reconnects?: boolean
  /** How long connecting may take, in milliseconds; default 10 s. */
  readonly withinMs?: number
}

/**
 * Connects, and returns the client.
 *
 * @throws StoreUnavailableError that says why it cannot connect, without credentials
 */
export async function connectIoredis(
  settings: ConnectionSettings,
  signal: AbortSignal,
  { reconnects = false, withinMs = 2 * unansweredMs }: OpenOptions = {},
): Promise<Redis | Cluster> {
  let isOpen = false
  const client = clientFor(settings, () => (reconnects && isOpen ? retryMs : null))
  let reason = ''
  // ioredis resolves even if the user may not select its database, and stays in the first one, where every lock is free.
  client.on('error', (error: Error & { lastNodeError?: Error }) => {
    reason ||= plain(error.lastNodeError ?? error)
  })
  const stop = (): void => client.disconnect()
  const timer = setTimeout(() => {
    reason ||= `no answer within ${withinMs / 1_000} s`
    stop()
  }, withinMs)
  signal.addEventListener('abort', stop, { once: true })
  try {
    await client.connect()
    if (reason) throw new Error(reason)
    isOpen = true
    return client
  } catch (error) {
    client.disconnect()
    signal.throwIfAborted()
    const why = reason || plain(error as Error)
    throw new StoreUnavailableError(`cannot be used at ${shownUrl(settings)}`, 'no', new Error(why))
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/** @param retry returns the pause before the next attempt; null for none: who types a command wants to know at once */
function clientFor({ url, cluster, sentinel }: ConnectionSettings, retry: () => number | null): Redis | Cluster {
  if (!cluster && sentinel === undefined) return new Redis(url, { ...options, retryStrategy: retry })
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const credentials = {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: {} }),
  }
  if (cluster) {
    return new Cluster([{ host: hostname, port: Number(port || 6379) }], {
      lazyConnect: true,
      clusterRetryStrategy: retry,
      redisOptions: { ...options, ...credentials },
    })
  }
  return new Redis({
    ...options,
    ...credentials,
    sentinels: [{ host: hostname, port: Number(port || 26379) }],
    name: sentinel as string,
    db: Number(pathname.slice(1)),
    retryStrategy: retry,
    sentinelRetryStrategy: retry,
    ...(protocol === 'rediss:' && { enableTLSForSentinelMode: true }),
  })
}

/** The error's message, without the arguments of a command that the server quotes. */
const plain = ({ message, ...rest }: Error & { errors?: readonly Error[]; code?: string }): string =>
  (message || rest.errors?.[0]?.message || rest.code || 'the connection was closed').replace(
    /, with args beginning with:.*/,
    '',
  )
