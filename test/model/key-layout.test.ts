import { startRedisCluster } from '@leasehold/testkit/redis'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { keyLayout } from '../../packages/core/src/redis/keys.ts'
import { redisArena } from '../support/arena.ts'
import { quiet } from '../support/quiet.ts'
import { rounds } from '../support/scale.ts'

/** Keys as an attacker would choose them: built from the pieces that record names are built from. */
const key = fc
  .array(fc.constantFrom('{', '}', 'a', '42', ':', ':fence', 'lock:', 'release:', '{42}', '{}', 'é', ' '), {
    minLength: 1,
  })
  .map((pieces) => pieces.join(''))
const prefix = fc.constantFrom('lock:', 'locks:', 'a', 'app{1}:', 'p:fence', ':')
const runs = { numRuns: rounds(20_000, 4_000) }

/** A key's names, or null for one that is refused. */
function namesOf(lockPrefix: string, lockKey: string): { lock: string; fence: string } | null {
  const layout = keyLayout(lockPrefix)
  try {
    return { lock: layout.lock(lockKey), fence: layout.fence(lockKey) }
  } catch (error) {
    expect(error).toMatchObject({ code: 'INVALID_OPTION', option: 'key' })
    return null
  }
}

describe('the layout of keys', () => {
  it('no record is ever the lock, or the record, of another key', () => {
    fc.assert(
      fc.property(prefix, key, key, (lockPrefix, one, other) => {
        const [a, b] = [namesOf(lockPrefix, one), namesOf(lockPrefix, other)]
        if (!a || !b) return
        expect(a.fence.startsWith('{')).toBe(true)
        expect(b.lock.startsWith('{')).toBe(false)
        if (one !== other) expect(a.fence).not.toBe(b.fence)
      }),
      runs,
    )
  })

  it('is needed: with a record named after its lock, one key’s record is another key’s lock', async () => {
    await using arena = await redisArena()
    const naiveRecord = (name: string): string => `${arena.prefix}${name}:fence`
    const locks = arena.client()
    // The naive record of "job" would be where the lock "job:fence" is; ours is elsewhere, and both locks work.
    const lease = await locks.acquire('job:fence', { wait: 0 })
    expect(await arena.command('GET', naiveRecord('job'))).toBe(lease.token)
    const other = await locks.acquire('job', { wait: 0 })
    expect(await locks.inspect('job:fence')).toMatchObject({ held: true, fence: lease.fence })
    expect(await lease.release()).toBe('released')
    expect(await other.release()).toBe('released')
  })

  it('a record lies in the slot of its lock, as a real cluster counts', async () => {
    await using cluster = await startRedisCluster({ nodes: 3 })
    const redis = quiet(new Redis(cluster.nodes[0]?.port as number))
    await fc.assert(
      fc.asyncProperty(prefix, key, async (lockPrefix, lockKey) => {
        const names = namesOf(lockPrefix, lockKey)
        if (!names) return
        expect(await redis.cluster('KEYSLOT', names.fence)).toBe(await redis.cluster('KEYSLOT', names.lock))
      }),
      { numRuns: rounds(5_000, 500) },
    )
    redis.disconnect()
  })

  it('refuses a prefix that would break that', () => {
    for (const bad of ['', '{', '{tag}:', 7]) {
      expect(() => keyLayout(bad as string)).toThrow(expect.objectContaining({ option: 'prefix' }))
    }
  })
})

it('keys with lone surrogates are refused, because they would merge', async () => {
  await using arena = await redisArena()
  const redis = quiet(new Redis(arena.server.url))
  await redis.set('\ud800', 'one')
  expect(await redis.get('\udfff')).toBe('one')
  redis.disconnect()
  const locks = arena.client()
  for (const lone of ['\ud800', 'a\udfffb', '\udc00\ud800']) {
    await expect(locks.acquire(lone)).rejects.toMatchObject({ code: 'INVALID_OPTION', option: 'key' })
  }
  // A well-formed pair is a character like any other.
  await (await locks.acquire('\u{1f512}', { wait: 0 })).release()
})
