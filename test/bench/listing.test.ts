import { createLocker } from '@leasehold/core'
import { listLocks } from '@leasehold/core/listing'
import { ioredisStore } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rounds } from '../support/scale.ts'
import { nowMs } from './measure/clock.ts'

/*
 * A list of 10,000 locks among 1,000,000 other keys; a tenth of both in `npm test`. Compared with a bare SCAN of the
 * same keys.
 */

const count = rounds(10_000, 1_000)
const others = rounds(1_000_000, 100_000)
/** How long one request may block the server, in microseconds. */
const mostMicros = 5_000
/** A busy machine delays any request now and then. What the requests themselves take recurs in every round. */
const tries = rounds(5, 25)

let server: RedisServer
let redis: Redis
beforeAll(async () => {
  server = await startRedis({ args: ['--enable-debug-command', 'yes'] })
  redis = new Redis(server.port)
  await redis.call('DEBUG', 'POPULATE', String(others), 'session', '64')
  const fill = redis.pipeline()
  for (let at = 0; at < count; at++) {
    const fence = 1_764_389_000_000_000 + at
    const random = at.toString(16).padStart(32, '0')
    fill.set(`lock:order:${at}`, `orders-7.${random}.${fence}`, 'PX', 3_600_000)
    fill.set(`{lock:order:${at}}:fence`, `${random}.${fence}`, 'PX', 3_600_000)
  }
  await fill.exec()
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

/** Times some work, in milliseconds. */
async function timed(work: () => Promise<number>): Promise<{ readonly found: number; readonly ms: number }> {
  const from = nowMs()
  return { found: await work(), ms: nowMs() - from }
}

async function bareScan(): Promise<number> {
  let [cursor, found] = ['0', 0]
  do {
    const [next, names] = await redis.scan(cursor, 'MATCH', 'lock:*', 'COUNT', 1_000)
    cursor = next
    found += names.length
  } while (cursor !== '0')
  return found
}

test('it takes little more than a bare SCAN, and holds the server up for less than 5 ms at a time', async () => {
  await using locks = createLocker({ store: ioredisStore(redis) })
  const list = async (): Promise<number> => {
    let found = 0
    for await (const _ of listLocks(locks)) found++
    return found
  }
  // The first sends the scripts.
  await list()
  await redis.config('SET', 'slowlog-log-slower-than', '500')
  await redis.config('SET', 'slowlog-max-len', '10000')
  const longest: number[] = []
  for (let turn = 0; turn < tries; turn++) {
    await redis.slowlog('RESET')
    const [bare, listed] = [await timed(bareScan), await timed(list)]
    expect([bare.found, listed.found]).toEqual([count, count])
    const slow = (await redis.slowlog('GET', 10_000)) as [number, number, number, string[]][]
    const taken = slow.filter(([, , , [name = '']]) => /^evalsha$/i.test(name)).map(([, , micros]) => micros)
    longest.push(Math.max(0, ...taken))
    console.log(
      `${count} locks among ${others} other keys: ${listed.ms.toFixed(0)} ms, a bare SCAN ${bare.ms.toFixed(0)} ms; ` +
        `the longest request ${((longest.at(-1) ?? 0) / 1_000).toFixed(1)} ms`,
    )
    expect(listed.ms).toBeLessThan(4 * bare.ms + 200)
    if ((longest.at(-1) ?? 0) <= mostMicros) break
  }
  expect(Math.min(...longest)).toBeLessThanOrEqual(mostMicros)
})

test('it is no snapshot, and what goes meanwhile harms it not', async () => {
  await using locks = createLocker({ store: ioredisStore(redis) })
  const seen = new Set<string>()
  for await (const { key } of listLocks(locks, { pattern: 'order:*' })) {
    // Everything that a page has named and nobody has read yet is deleted.
    if (seen.size === 0) await redis.del(...Array.from({ length: count / 2 }, (_, at) => `lock:order:${at}`))
    expect(seen.has(key)).toBe(false)
    seen.add(key)
  }
  const left = Array.from({ length: count / 2 }, (_, at) => `order:${count / 2 + at}`)
  expect(left.filter((key) => !seen.has(key))).toEqual([])
})
