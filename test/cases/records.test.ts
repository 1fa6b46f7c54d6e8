import { createLocker, type Locker } from '@leasehold/core'
import { type ClaimOptions, claimRecord, type RecordClaim, type Run } from '@leasehold/core/records'
import { ioredisBackend } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listen } from '../../packages/bridge/src/bin/http-server.ts'
import { ioredisGateway } from '../../packages/bridge/src/bin/ioredis-gateway.ts'
import { createGateway } from '../../packages/bridge/src/gateway/index.ts'

/*
 * T-50 and T-54, as far as records decide them: of many who claim one key one runs, over any transport, and an
 * overtaken run cannot complete.
 */

let redis: RedisServer
let tcp: Locker
let http: Locker
const ends: (() => unknown)[] = []

beforeAll(async () => {
  redis = await startRedis()
  const connection = new Redis(redis.port)
  tcp = createLocker({ ...ioredisBackend(connection), name: 'tcp' })
  const token = 'records-token-0123456789abcdef02'
  const gateway = ioredisGateway(`redis://127.0.0.1:${redis.port}`, { unansweredMs: 5_000 })
  const server = await listen(createGateway({ redis: gateway, tokens: [token] }), { host: '127.0.0.1', port: 0 })
  http = createLocker({ store: fetchStore({ url: server.url, token }), name: 'http' })
  ends.push(
    () => connection.disconnect(),
    gateway.close,
    () => server.close(0),
  )
})
afterAll(async () => {
  await Promise.all([tcp, http].map((locks) => locks.close({ grace: 0 })))
  for (const end of ends.reverse()) await end()
  await redis.stop()
})

const claim = (locks: Locker, key: string, options: Partial<ClaimOptions> = {}): Promise<RecordClaim> =>
  claimRecord(locks, key, { fingerprint: 'same', wait: 0, ...options })

async function begin(locks: Locker, key: string, options?: Partial<ClaimOptions>): Promise<Run> {
  const found = await claim(locks, key, options)
  expect(found.type).toBe('claimed')
  return (found as Extract<RecordClaim, { type: 'claimed' }>).run
}

/** Claims a key without renewal, and lets the lease expire. */
async function dieAt(locks: Locker, key: string): Promise<Run> {
  const run = await begin(locks, key, { ttl: '600ms', renew: false })
  await expect.poll(() => tcp.isLocked(key)).toBe(false)
  return run
}

async function scriptCalls(): Promise<number> {
  const stats = String(await redis.command('INFO', 'commandstats'))
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

const binary = Uint8Array.from({ length: 1_000 }, (_, at) => (at * 31) % 256)

it('of thirty who claim a key at once, over TCP and HTTP, one runs, and all get its bytes', async () => {
  let runs = 0
  const results = await Promise.all(
    Array.from({ length: 30 }, async (_, at) => {
      const found = await claim(at % 2 ? tcp : http, 'burst', { wait: '20s' })
      if (found.type !== 'claimed') return found.type === 'done' && found.record.state === 'done' && found.record.result
      runs++
      await new Promise((resolve) => setTimeout(resolve, 200))
      await found.run.complete(binary)
      return binary
    }),
  )
  expect(runs).toBe(1)
  for (const result of results) expect(result).toEqual(binary)
})

it('a run without contention takes two commands, and a replay one', async () => {
  for (const key of ['warm', 'counted']) {
    const before = await scriptCalls()
    await (await begin(tcp, key)).complete(binary)
    expect(await claim(tcp, key)).toMatchObject({ type: 'done' })
    if (key === 'counted') expect((await scriptCalls()) - before).toBe(3)
  }
})

describe.each([
  ['HTTP', 'TCP', (): [Locker, Locker] => [http, tcp]],
  ['TCP', 'HTTP', (): [Locker, Locker] => [tcp, http]],
] as const)('a run over %s that was overtaken by one over %s', (from, _, lockers) => {
  it('is refused after its successor has completed, and learns the result', async () => {
    const [mine, others] = lockers()
    const key = `after-${from}`
    const late = await dieAt(mine, key)
    expect(await claim(others, key)).toMatchObject({ type: 'in-doubt', record: { fence: late.fence } })
    const next = await begin(others, key, { rerun: true })
    expect(next.overtook).toBe(late.fence)
    await next.complete(binary)
    expect(await late.complete(Uint8Array.of(1))).toMatchObject({
      type: 'superseded',
      record: { state: 'done', result: binary },
    })
    expect(await claim(mine, key)).toMatchObject({ type: 'done', record: { result: binary } })
  })

  it('is refused before its successor has completed', async () => {
    const [mine, others] = lockers()
    const key = `before-${from}`
    const late = await dieAt(mine, key)
    const next = await begin(others, key, { rerun: true })
    expect(await late.complete(Uint8Array.of(1))).toMatchObject({
      type: 'superseded',
      record: { state: 'running', fence: next.fence },
    })
    expect(await next.complete(binary)).toEqual({ type: 'completed', result: true })
    expect(await claim(mine, key)).toMatchObject({ type: 'done', record: { result: binary } })
  })
})

it('when all is done, only records and fences are left, and all of them expire', async () => {
  const names = (await redis.command('KEYS', '*')) as string[]
  for (const name of names) {
    expect(name).toMatch(/^\{lock:[\w-]+\}:(record|fence)$/i)
    expect(Number(await redis.command('PTTL', name))).toBeGreaterThan(0)
  }
})
