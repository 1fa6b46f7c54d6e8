import type { RedisServer } from '@leasehold/testkit/redis'
import { eventually } from '../support/scale.ts'

/** Whether replicas have everything that their primary has written so far. */
export async function haveCaughtUp(primary: RedisServer, replicas: readonly RedisServer[]): Promise<boolean> {
  const [, written] = (await primary.command('ROLE')) as unknown[]
  const roles = (await Promise.all(replicas.map((replica) => replica.command('ROLE')))) as unknown[][]
  return roles.every(([, , , state, has]) => state === 'connected' && has === written)
}

/**
 * Has a primary take no more writes, and resolves when its replicas have everything that it has: the premise under
 * which its crash loses nothing. `WAIT` cannot tell: while writes are paused, replicas are not asked to confirm.
 */
export async function stopWrites(primary: RedisServer, replicas: readonly RedisServer[]): Promise<void> {
  await primary.command('CLIENT', 'PAUSE', 60_000, 'WRITE')
  await eventually(() => haveCaughtUp(primary, replicas))
}
