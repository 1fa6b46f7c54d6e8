import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createLocker, type Locker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { startTcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type RunningProgram, readyUrl, runProgram } from '../../test-program.ts'

const main = fileURLToPath(new URL('bridge.ts', import.meta.url))
const token = 'sesame-8f20b7-0123456789abcdef0123'

let redis: RedisServer
let client: Redis
let locks: Locker
beforeAll(async () => {
  redis = await startRedis()
  client = new Redis(redis.url).on('error', () => undefined)
  locks = createLocker({ store: ioredisStore(client) })
})
afterAll(async () => {
  client.disconnect()
  await redis.stop()
})

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

function run(args: readonly string[], env: Record<string, string> = {}): RunningProgram {
  const running = runProgram(main, args, env)
  children.push(running.child)
  return running
}

const get = (url: string): Promise<Response> => fetch(url, { headers: { authorization: `Bearer ${token}` } })

test('one command starts it, it says so in JSON without its token, and a waiter is told of a release', async () => {
  const running = run(['--redis', redis.url, '--port', '0', '--token', token])
  const url = await readyUrl(running)
  const lease = await locks.acquire('a')
  const stream = await get(`${url}/v1/events?key=a`)
  const reader = (stream.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const heard = async (what: string): Promise<void> => {
    while (!text.includes(what)) text += (await reader.read()).value
  }
  await heard('event: state')
  await lease.release()
  await heard('event: release\ndata: {"key":"a"}')
  running.child.kill('SIGTERM')
  const { code, out, err } = await running.ended
  expect([code, err]).toEqual([0, ''])
  const messages = out
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg)
  expect(messages).toEqual(['listening for releases', 'ready', 'stopping', 'stopped'])
  expect(out).not.toContain('sesame')
})

test('it tells whether it is well, and its numbers, to whoever asks', async () => {
  const running = run([], {
    LEASEHOLD_BRIDGE_REDIS: redis.url,
    LEASEHOLD_BRIDGE_TOKENS: token,
    LEASEHOLD_BRIDGE_PORT: '0',
  })
  const url = await readyUrl(running)
  for (const path of ['/healthz', '/readyz']) expect((await fetch(url + path)).status).toBe(200)
  expect((await get(`${url}/v1/wait?key=free&since=-`)).status).toBe(200)
  expect((await fetch(`${url}/v1/wait?key=free&since=-`)).status).toBe(401)
  await (await locks.acquire('counted')).release()
  const page = async (): Promise<string> => (await fetch(`${url}/metrics`)).text()
  await expect.poll(page).toContain('leasehold_bridge_releases_seen_total 1')
  const numbers = await page()
  expect(numbers).toContain('leasehold_bridge_looks_total{reason="first-waiter"} 1')
  expect(numbers).toContain('leasehold_bridge_looks_total{reason="readiness"} ')
  expect(numbers).toContain('leasehold_bridge_wake_ups_total 1')
  expect(numbers).toContain('leasehold_bridge_refused_total{status="401"} 1')
  expect(numbers).toContain('leasehold_bridge_waits 0')
  expect(numbers).toContain('leasehold_bridge_streams 0')
  expect(numbers).toContain('leasehold_bridge_subscribed 1')
  expect(numbers).toContain('process_resident_memory_bytes ')
  expect(numbers).not.toContain('sesame')
})

test.each(['SIGTERM', 'SIGINT'] as const)('%s tells those who wait to come back, and ends it', async (signal) => {
  const running = run(['--redis', redis.url, '--port', '0', '--token', token])
  const url = await readyUrl(running)
  await using _ = await locks.acquire('waited-for')
  const stream = await get(`${url}/v1/events?key=waited-for`)
  const poll = get(`${url}/v1/wait?key=waited-for&since=-`)
  await expect.poll(async () => (await fetch(`${url}/metrics`)).text()).toContain('leasehold_bridge_waits 1')
  // Those of the tests before were killed.
  await expect.poll(() => redis.command('PUBSUB', 'NUMPAT')).toBe(1)
  running.child.kill(signal)
  const sentOff = await poll
  expect([sentOff.status, sentOff.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await stream.text()).toContain('event: state')
  expect((await running.ended).code).toBe(0)
  await expect.poll(() => redis.command('PUBSUB', 'NUMPAT')).toBe(0)
})

test.each([
  [
    'no Redis there',
    ['--redis', 'redis://user:sesame@127.0.0.1:1', '--token', token],
    1,
    /Redis at 127\.0\.0\.1:1: .*ECONNREFUSED/,
  ],
  ['a wrong flag', ['--prot', '1'], 2, /Unknown option '--prot'[\s\S]*Try --help/],
  ['no token', ['--redis', 'redis://127.0.0.1'], 2, /--token/],
  ['a short secret', ['--redis', 'redis://127.0.0.1', '--ticket-secret', 'sesame'], 1, /ticketSecrets.*32/],
  ['a bad prefix', ['--redis', 'redis://127.0.0.1', '--token', token, '--prefix', '{'], 1, /"prefix"/],
] as const)('%s: it says so and does not start', async (_, args, code, problem) => {
  const { err, ...rest } = await run(args).ended
  expect(rest).toEqual({ code, out: '' })
  expect(err).toMatch(problem)
  expect(err).not.toContain('sesame')
})

test('a Redis user that may not listen, or not read, and a port that is taken, are reasons not to start', async () => {
  await redis.command('ACL', 'SETUSER', 'deaf', 'on', '>pw', '~lock:*', 'resetchannels', '+@all')
  await redis.command('ACL', 'SETUSER', 'blind', 'on', '>pw', 'resetkeys', '&lock:release:*', '+@all')
  await redis.command('ACL', 'SETUSER', 'enough', 'on', '>pw', '~lock:*', '&lock:release:*', '+@all', '-@dangerous')
  for (const user of ['deaf', 'blind']) {
    const { code, err } = await run(['--redis', `redis://${user}:pw@127.0.0.1:${redis.port}`, '--token', token]).ended
    expect([code, err]).toEqual([1, expect.stringMatching(/cannot listen .*"lock:"/)])
  }
  const right = run(['--redis', `redis://enough:pw@127.0.0.1:${redis.port}`, '--token', token, '--port', '0'])
  const { port } = new URL(await readyUrl(right))
  const taken = await run(['--redis', redis.url, '--token', token, '--port', port]).ended
  expect(taken).toMatchObject({ code: 1, err: expect.stringMatching(/EADDRINUSE/) })
})

test('--help says how', async () => {
  expect(await run(['--help']).ended).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Usage: leasehold-bridge /),
  })
})

test('a Redis that falls silent makes it unready, is connected to anew, and is found when it speaks again', async () => {
  await using proxy = await startTcpProxy({ port: redis.port })
  const running = run(['--redis', `redis://127.0.0.1:${proxy.port}`, '--port', '0', '--token', token])
  const url = await readyUrl(running)
  const ready = async (): Promise<number> => (await fetch(`${url}/readyz`)).status
  expect(await ready()).toBe(200)
  const connections = proxy.accepted
  proxy.blackHole()
  // What it knew is good for a second.
  await expect.poll(ready, { interval: 100 }).toBe(503)
  await expect.poll(() => proxy.accepted).toBeGreaterThan(connections)
  proxy.restore()
  await expect.poll(ready, { interval: 100 }).toBe(200)
})
