import { ensureRedis } from '@leasehold/testkit/redis'

/** Tests talk to a real Redis: without one they fail here, once, and say how to get one. */
export async function setup(): Promise<void> {
  await ensureRedis()
}
