import { type LocalProcess, startNodeProgram } from '@leasehold/example-local/node-program'
import type { DemoRedis, Embedded } from './redis-choice.ts'
import type { ReportedEvent, Timeline } from './timeline.ts'

/** How a server reaches Redis; undefined for the embedded store, which is in the server itself. */
export type Way = 'TCP' | 'HTTP' | undefined

export interface DemoServer extends LocalProcess {
  readonly name: string
  readonly way: Way
}

/** Over TCP, and with the embedded store: the Node example. */
const node = new URL(import.meta.resolve('@leasehold/example-node-server/main'))
/** Over HTTP: the Hono Worker in workerd, with the gateway and the bridge, in a separate process. */
const edge = new URL('edge/main.ts', import.meta.url)

/**
 * Short, so that what the locks leave behind is gone soon. Leases are renewed, but the ttl must be long enough that a
 * holder on a busy machine does not lose its lease when it cannot run for a while.
 */
const lockTtlMs = 6_000
const fenceMemoryMs = 1_000
/** When the last lock and the last fence record must have expired, with some margin. */
export const expiryDeadlineMs: number = Math.max(lockTtlMs, fenceMemoryMs) + 3_000

const lockPrefix = (redis: DemoRedis): string => `${redis.prefix}lock:`
export const dataPrefix = (redis: DemoRedis): string => `${redis.prefix}shop:`

/**
 * Starts two servers over TCP and one over HTTP, each in its own process; with the embedded store, only one server.
 *
 * @param onMissing called with why there is no server over HTTP, if workerd cannot run
 * @throws Error if one of the others does not start; the rest are stopped then.
 */
export async function startServers(
  redis: DemoRedis | Embedded,
  timeline: Timeline,
  options: { readonly limits: Readonly<Record<string, number>>; readonly withoutLocks: boolean },
  onMissing: (reason: string) => void,
): Promise<readonly DemoServer[]> {
  const env = {
    ...process.env,
    HOST: '127.0.0.1',
    LOCK_TTL: `${lockTtlMs}ms`,
    LOCK_WAIT: '10s',
    FENCE_MEMORY: `${fenceMemoryMs}ms`,
    WORK_MS: '30',
    AUDIT: 'on',
    LOCKS: options.withoutLocks ? 'off' : 'on',
    COUPONS: Object.entries(options.limits)
      .map(([id, limit]) => `${id}:${limit}`)
      .join(','),
    ...('embedded' in redis
      ? { REDIS_URL: '' }
      : { REDIS_URL: redis.url, LOCK_PREFIX: lockPrefix(redis), DATA_PREFIX: dataPrefix(redis) }),
  }
  const start = async (name: string, way: Way): Promise<DemoServer> => {
    const report = (event: unknown): void => timeline.add(name, way, event as ReportedEvent)
    return {
      name,
      way,
      ...(await startNodeProgram(way === 'HTTP' ? edge : node, { ...env, SERVER_NAME: name }, report)),
    }
  }
  if ('embedded' in redis) return [await start('A', undefined)]

  const overHttp = start('C', 'HTTP').catch((error: Error) => onMissing(error.message))
  const started = await Promise.allSettled([start('A', 'TCP'), start('B', 'TCP'), overHttp])
  const servers = started.flatMap((result) => (result.status === 'fulfilled' && result.value ? [result.value] : []))
  const failed = started.find((result) => result.status === 'rejected')
  if (!failed) return servers
  await Promise.all(servers.map((server) => server.stop()))
  throw failed.reason
}
