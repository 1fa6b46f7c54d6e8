import { readFileSync } from 'node:fs'
import { createLocker, type Lease, type Locker } from '@leasehold/core'
import { fifo, type Queue } from '@leasehold/core/queue'
import { ioredisBackend, ioredisStore } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BridgeProgram, startBridgeProgram } from '../../packages/bridge/test/program.ts'
import { bridgeNotifier } from '../../packages/bridge-client/src/index.ts'
import { ProgramOnTerminal } from '../../packages/cli/test/terminal.ts'
import { eventually, limit, ms, soak } from '../support/scale.ts'

/*
 * What `docs/operating.md` says about a stuck lock: the output that it shows, and what happens to a lock that somebody
 * deletes.
 */

let server: RedisServer
/** Only in a soak: a waiter behind it waits long. */
let bridge: BridgeProgram | undefined
let client: Redis
const lockers: Locker[] = []
const locker = (name: string, notifier = ioredisBackend(client).notifier): Locker => {
  const made = createLocker({ store: ioredisStore(client), notifier, name })
  lockers.push(made)
  return made
}
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port)
  if (soak) bridge = await startBridgeProgram(server.url)
})
afterAll(async () => {
  await Promise.all(lockers.map((each) => each.close({ grace: 0 })))
  client.disconnect()
  await bridge?.[Symbol.asyncDispose]()
  await server.stop()
})

const waitsFor = (key: string, count: number): Promise<void> =>
  eventually(async () => (await client.pubsub('NUMSUB', `lock:release:${key}`))[1] === count)

describe('the page', () => {
  const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')
  /** Each block is a command line and the resulting terminal output. */
  const blocks = Array.from(
    page.matchAll(/^```console\n\$ leasehold (.*)\n([\s\S]*?)^```$/gm),
    ([, args = '', shown = '']) => ({
      args: args.split(' '),
      shown: shown.trimEnd(),
    }),
  )
  /** Numbers differ from run to run, and with them the widths of columns. */
  const shape = (text: string): string =>
    text
      .replace(/\d[\d.,]*( ?(ms|[smhd])\b)?/g, '0')
      .replace(/(0 )+0/g, '0')
      .replace(/ +/g, ' ')
      .replace(/ +$/gm, '')

  beforeAll(async () => {
    const [worker, reports] = [locker('imports-8b2f-1'), locker('reports-1')]
    // Held for three quarters of an hour.
    const fence = (Date.now() - 47 * 60_000) * 1_000
    await client.set('lock:import:customers', `imports-7c9d-1.${'5f'.repeat(16)}.${fence}`, 'PX', 30_000)
    for (const waiting of [worker, reports]) waiting.acquire('import:customers', { wait: '1m' }).catch(() => undefined)
    await waitsFor('import:customers', 2)
    await reports.acquire('report:daily', { ttl: '10s' })
  })

  test('shows what the program shows', async () => {
    expect(blocks.map(({ args }) => args[0])).toEqual(['ls', 'watch', 'show', 'revoke'])
    for (const { args, shown } of blocks) {
      await using program = new ProgramOnTerminal(args, 100, { LEASEHOLD_REDIS: server.url })
      if (shown.includes('[y/N] y')) {
        await program.shows(/\[y\/N\]/)
        program.type('y\r')
      }
      if (args[0] === 'watch') {
        await program.shows(/2 proc/)
        expect(shape(program.screen().join('\n'))).toBe(shape(shown))
        continue
      }
      expect(await program.ended()).toBe(0)
      expect(shape(program.screen().join('\n'))).toBe(shape(shown))
    }
  })
})

test.concurrent('a lock that somebody deletes is found free by all who wait, each when the page says, and its holder learns of it', async () => {
  const ttlMs = ms(10_000)
  const recheckMs = 1_000
  const holder = locker('holder')
  const queue: Queue = fifo()
  await Promise.all(
    (
      [
        ['tcp', locker('tcp'), recheckMs, {}],
        ...(bridge
          ? [
              [
                'bridge',
                locker('over-http', bridgeNotifier({ url: bridge.url, token: bridge.token })),
                ttlMs,
                {},
              ] as const,
            ]
          : []),
        ['queued', locker('queued'), 2_000, { queue }],
      ] as const
    ).map(async ([name, waiter, mostMs, options]) => {
      const key = `deleted:${name}`
      const lease = await holder.acquire(key, { ttl: ttlMs, ...options })
      const waiting = waiter.acquire(key, { wait: '1m', ...options })
      if (name === 'tcp') await waitsFor(key, 1)
      if (name === 'bridge') await eventually(async () => (await bridge?.metric('leasehold_bridge_streams')) === 1)
      if (name === 'queued') await eventually(async () => (await client.zcard(`{lock:${key}}:queue`)) === 1)
      const from = performance.now()
      await client.del(`lock:${key}`)
      const next = await waiting
      const afterMs = performance.now() - from
      console.log(`${name}: ${afterMs.toFixed(0)} ms after the lock was deleted, of ${mostMs} ms at most`)
      expect(afterMs).toBeLessThan(limit(mostMs + 500))
      expect(next.fence).toBeGreaterThan(lease.fence)
      await lost(lease)
      expect(performance.now() - from).toBeLessThan(limit(ttlMs))
    }),
  )
})

test.concurrent('a lock that is revoked goes to who waits at once', async () => {
  const [holder, waiter] = [locker('holder'), locker('waiter')]
  await holder.acquire('revoked', { ttl: '30s' })
  const waiting = waiter.acquire('revoked', { wait: '1m', recheck: '1h' })
  await waitsFor('revoked', 1)
  const from = performance.now()
  await waiter.revoke('revoked')
  await waiting
  expect(performance.now() - from).toBeLessThan(limit(500))
})

/** On a server whose clock was set back by 300 s, the expiry is that much later. */
test.concurrent('a lease whose expiry lies far ahead is renewed and released as ever, and a dead one is revoked', async () => {
  const holder = locker('holder')
  const lease = await holder.acquire('clock', { ttl: '1s' })
  await client.pexpire('lock:clock', (await client.pttl('lock:clock')) + 300_000)
  await lease.renew({ ttl: '2s' })
  expect(await client.pttl('lock:clock')).toBeGreaterThan(290_000)
  expect(lease.signal.aborted).toBe(false)
  expect(await lease.release()).toBe('released')

  const dead = await holder.acquire('clock', { ttl: '1s', renew: false })
  await client.pexpire('lock:clock', 301_000)
  const other = locker('other')
  expect(await other.tryAcquire('clock')).toBeNull()
  await other.revoke('clock')
  expect((await other.acquire('clock')).fence).toBeGreaterThan(dead.fence)
})

const lost = (lease: Lease): Promise<void> =>
  new Promise((resolve) => {
    if (lease.signal.aborted) resolve()
    lease.signal.addEventListener('abort', () => resolve())
  })
