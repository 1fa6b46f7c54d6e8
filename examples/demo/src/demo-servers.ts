import { type ServerProcess, startServerProcess } from '@leasehold/example-node-server/process'
import type { DemoRedis, Embedded } from './redis-choice.ts'
import type { Timeline } from './timeline.ts'

export interface DemoServer extends ServerProcess {
  readonly name: string
}

/** Short, so that what the locks leave behind is gone soon after. Holds are renewed, so none needs longer. */
const lockTtlMs = 3_000
const fenceMemoryMs = 1_000
/** When the last lock and the last fence record must have expired, with some margin. */
export const expiryDeadlineMs: number = Math.max(lockTtlMs, fenceMemoryMs) + 3_000

const lockPrefix = (redis: DemoRedis): string => `${redis.prefix}lock:`
export const dataPrefix = (redis: DemoRedis): string => `${redis.prefix}shop:`

/**
 * Starts one server per name, each a process of its own.
 *
 * @throws Error if one does not start; the others are stopped then.
 */
export async function startServers(
  names: readonly string[],
  redis: DemoRedis | Embedded,
  timeline: Timeline,
  options: { readonly limits: Readonly<Record<string, number>>; readonly withoutLocks: boolean },
): Promise<readonly DemoServer[]> {
  const env = {
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
  const starting = names.map(async (name) => ({
    name,
    ...(await startServerProcess({ ...env, SERVER_NAME: name }, (event) => timeline.add(name, event))),
  }))
  const started = await Promise.allSettled(starting)
  const servers = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failed = started.find((result) => result.status === 'rejected')
  if (!failed) return servers
  await Promise.all(servers.map((server) => server.stop()))
  throw failed.reason
}
