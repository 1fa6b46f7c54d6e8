import { createLocker, type Locker } from '@leasehold/core'
import { listLocks } from '@leasehold/core/listing'
import { type RedisTransport, redisStore } from '@leasehold/core/redis'
import { ioredisStore, ioredisTransport } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../../packages/cli/test/program.ts'
import { rounds, soak } from '../support/scale.ts'
import { nowMs } from './measure/clock.ts'

/*
 * A list of 10,000 locks among 1,000,000 other keys; a tenth of both in `npm test`. Compared with a bare SCAN of the
 * same keys.
 */

const count = rounds(10_000, 1_000)
const others = rounds(1_000_000, 100_000)
/** How long one request may block the server, in microseconds. */
const mostMicros = 5_000
const turns = rounds(5, 2)

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

async function listed(locks: Locker): Promise<number> {
  let found = 0
  for await (const _ of listLocks(locks)) found++
  return found
}

/** The processor time of the server's thread for commands since it started, in microseconds. */
async function workedMicros(): Promise<number> {
  const info = await redis.info('cpu')
  const seconds = (kind: string): number =>
    Number(new RegExp(`^used_cpu_${kind}_main_thread:(.+)`, 'm').exec(info)?.[1])
  return 1e6 * (seconds('user') + seconds('sys'))
}

/** A transport that notes how much the server worked for each request. */
function measured(worked: number[]): RedisTransport {
  const transport = ioredisTransport(redis)
  const { commandDeadlineMs, cluster, countsSubscribers } = transport
  return {
    ...{ commandDeadlineMs, cluster, countsSubscribers },
    nodeOf: (key) => transport.nodeOf(key),
    whenReady: (key, call) => transport.whenReady(key, call),
    async run(calls, call) {
      const before = await workedMicros()
      const replies = await transport.run(calls, call)
      worked.push((await workedMicros()) - before)
      return replies
    },
  }
}

/** The least value that this share of all values does not exceed. */
const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.ceil(share * values.length) - 1] ?? 0

const shownMs = (micros: number): string => `${(micros / 1_000).toFixed(1)} ms`

test('no request takes the server more than 5 ms', async () => {
  // How much the server works does not depend on what else the machine does. Whether it may work at once does.
  const worked: number[] = []
  await using locks = createLocker({ store: redisStore(measured(worked)) })
  for (let turn = 0; turn < turns; turn++) expect(await listed(locks)).toBe(count)
  const [half, nearlyAll, all] = [0.5, 0.99, 1].map((share) => quantile(worked, share)) as [number, number, number]
  console.log(
    `${worked.length} requests: the server works for half of them up to ${shownMs(half)}, for 99 of 100 up to ` +
      `${shownMs(nearlyAll)}, for all up to ${shownMs(all)}`,
  )
  expect(half).toBeGreaterThan(0)
  // In a virtual machine, what the host takes away now and then counts as work.
  expect(nearlyAll).toBeLessThanOrEqual(mostMicros)
})

test('it takes little more than a bare SCAN', async () => {
  await using locks = createLocker({ store: ioredisStore(redis) })
  await redis.config('SET', 'slowlog-log-slower-than', '0')
  await redis.config('SET', 'slowlog-max-len', '100000')
  for (let turn = 0; turn < turns; turn++) {
    await redis.slowlog('RESET')
    const [bare, list] = [await timed(bareScan), await timed(() => listed(locks))]
    expect([bare.found, list.found]).toEqual([count, count])
    const all = (await redis.slowlog('GET', 100_000)) as [number, number, number, string[]][]
    const taken = all.filter(([, , , [name = '']]) => /^evalsha$/i.test(name)).map(([, , micros]) => micros)
    console.log(
      `${count} locks among ${others} other keys: ${list.ms.toFixed(0)} ms, a bare SCAN ${bare.ms.toFixed(0)} ms; ` +
        `99 of 100 requests took up to ${shownMs(quantile(taken, 0.99))}, all up to ${shownMs(quantile(taken, 1))}`,
    )
    expect(list.ms).toBeLessThan(4 * bare.ms + 200)
    // With whatever the machine did meanwhile.
    if (soak) expect(quantile(taken, 0.99)).toBeLessThanOrEqual(mostMicros)
  }
})

test('`leasehold ls` takes little more than a start and a bare SCAN, and in a soak three seconds at most', async () => {
  const [starts, scans, lists]: [number[], number[], number[]] = [[], [], []]
  for (let turn = 0; turn < 3; turn++) {
    starts.push((await timed(async () => (await run(['--help'])).out.length)).ms)
    scans.push((await timed(bareScan)).ms)
    const { found, ms } = await timed(async () => {
      const { code, out } = await run(['ls', '--json'], { LEASEHOLD_REDIS: server.url })
      expect(code).toBe(0)
      return out.trimEnd().split('\n').length
    })
    expect(found).toBe(count)
    lists.push(ms)
  }
  // Other load only adds to a time, so the least of several says most.
  const [start, bare, ms] = [starts, scans, lists].map((each) => Math.min(...each)) as [number, number, number]
  console.log(
    `leasehold ls: ${ms.toFixed(0)} ms, its start alone ${start.toFixed(0)} ms, a bare SCAN ${bare.toFixed(0)} ms`,
  )
  expect(ms).toBeLessThan(4 * (start + bare) + 200)
  if (soak) expect(ms).toBeLessThan(3_000)
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
