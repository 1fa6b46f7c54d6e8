import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'

const checkEveryMs = 200

/** Every key of one run: those under its prefix, and those derived from its locks, which have a `{` before the prefix. */
export async function keysUnder(redis: Redis, prefix: string): Promise<readonly string[]> {
  const found = new Set<string>()
  for (const pattern of [`${prefix}*`, `{${prefix}*`]) {
    for await (const keys of redis.scanStream({ match: pattern, count: 1_000 })) {
      for (const key of keys as string[]) found.add(key)
    }
  }
  return [...found]
}

export async function deleteKeys(redis: Redis, keys: readonly string[]): Promise<void> {
  // One by one: on a cluster the keys are in different slots.
  for (const key of keys) await redis.unlink(key)
}

/** Waits until nothing is left under a prefix, or time is up. Resolves with what is left, and how long it waited. */
export async function untilGone(
  redis: Redis,
  prefix: string,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<{ readonly left: readonly string[]; readonly waitedMs: number }> {
  const start = performance.now()
  for (;;) {
    const left = await keysUnder(redis, prefix)
    const waitedMs = performance.now() - start
    if (left.length === 0 || waitedMs > deadlineMs) return { left, waitedMs }
    await pause(checkEveryMs, undefined, { signal })
  }
}
