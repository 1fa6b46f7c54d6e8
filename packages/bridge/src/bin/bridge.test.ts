import type { ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { createLocker, type Locker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { startTcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type RunningProgram, readyUrl, runProgram } from '../../test/program.ts'

const main = fileURLToPath(new URL('bridge.ts', import.meta.url))
const token = 'sesame-8f20b7-0123456789abcdef0123'
const metricsToken = 'sesame-metrics-0123456789abcdef0123'

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

/** Every line that was written is JSON. */
const linesOf = (text: string): readonly Readonly<Record<string, unknown>>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

const get = (url: string, credential: string = token): Promise<Response> =>
  fetch(url, { headers: { authorization: `Bearer ${credential}` } })

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
  const messages = linesOf(out).map(({ msg }) => msg)
  expect(messages).toEqual(['listening for releases', 'ready', 'stopping', 'stopped'])
  expect(out).not.toContain('sesame')
})

test('it tells whether it is well to whoever asks, and its numbers to whoever has their token', async () => {
  const running = run([], {
    LEASEHOLD_BRIDGE_REDIS: redis.url,
    LEASEHOLD_BRIDGE_TOKENS: token,
    LEASEHOLD_BRIDGE_PORT: '0',
    LEASEHOLD_BRIDGE_METRICS_TOKEN: metricsToken,
  })
  const url = await readyUrl(running)
  for (const path of ['/healthz', '/readyz']) expect((await fetch(url + path)).status).toBe(200)
  expect((await get(`${url}/v1/wait?key=free&since=-`)).status).toBe(200)
  expect((await fetch(`${url}/v1/wait?key=free&since=-`)).status).toBe(401)
  await (await locks.acquire('counted')).release()
  const headers = { authorization: `Bearer ${metricsToken}` }
  const page = async (): Promise<string> => (await fetch(`${url}/metrics`, { headers })).text()
  await expect.poll(page).toContain('leasehold_bridge_releases_seen_total 1')
  const numbers = await page()
  expect(numbers).toContain('leasehold_bridge_checks_total{reason="first-waiter"} 1')
  expect(numbers).toContain('leasehold_bridge_checks_total{reason="readiness"} ')
  expect(numbers).toContain('leasehold_bridge_wake_ups_total 1')
  expect(numbers).toContain('leasehold_bridge_refused_total{status="401"} 1')
  expect(numbers).toContain('leasehold_bridge_waits 0')
  expect(numbers).toContain('leasehold_bridge_streams 0')
  expect(numbers).toContain('leasehold_bridge_subscribed 1')
  expect(numbers).toContain('process_resident_memory_bytes ')
  expect(numbers).not.toContain('nodejs_active_')
  expect(numbers).not.toContain('sesame')
  for (const response of [await fetch(`${url}/metrics`), await get(`${url}/metrics`)]) expect(response.status).toBe(401)
})

test('its numbers can have an address of their own, and nothing else is there', async () => {
  const running = run(['--redis', redis.url, '--token', token, '--port', '0', '--metrics-port', '0'])
  const url = await readyUrl(running)
  const { metricsUrl } = linesOf(running.out()).at(-1) as { metricsUrl: string }
  expect(metricsUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(await (await fetch(`${metricsUrl}/metrics`)).text()).toContain('leasehold_bridge_subscribed 1')
  const refused = await fetch(`${metricsUrl}/metrics`, { method: 'POST' })
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  for (const other of [`${metricsUrl}/readyz`, `${metricsUrl}/v1/wait?key=a&since=-`, `${url}/metrics`]) {
    expect((await get(other)).status).toBe(404)
  }
  running.child.kill('SIGTERM')
  expect((await running.ended).code).toBe(0)
})

test('that address asks for the token of the numbers, if there is one', async () => {
  const more = ['--metrics-port', '0', '--metrics-token', metricsToken]
  const running = run(['--redis', redis.url, '--token', token, '--port', '0', ...more])
  const url = await readyUrl(running)
  const { metricsUrl } = linesOf(running.out()).at(-1) as { metricsUrl: string }
  expect((await fetch(`${metricsUrl}/metrics`)).status).toBe(401)
  expect((await get(`${metricsUrl}/metrics`, metricsToken)).status).toBe(200)
  expect((await get(`${url}/metrics`)).status).toBe(404)
})

test('without either there are no numbers for the public', async () => {
  const url = await readyUrl(run(['--redis', redis.url, '--token', token, '--port', '0']))
  for (const response of [await fetch(`${url}/metrics`), await get(`${url}/metrics`)]) expect(response.status).toBe(404)
})

test('it keeps a connection for longer than proxies do, so that none sends a request on one that is closed', async () => {
  const url = await readyUrl(run(['--redis', redis.url, '--token', token, '--port', '0']))
  // The idle timeout of nginx is 60 s to the bridge and 75 s to its clients; that of load balancers is 60 s.
  expect((await fetch(`${url}/healthz`)).headers.get('keep-alive')).toBe('timeout=76')
})

test.each(['SIGTERM', 'SIGINT'] as const)('%s tells those who wait to come back, and ends it', async (signal) => {
  const running = run(['--redis', redis.url, '--port', '0', '--token', token, '--metrics-token', metricsToken])
  const url = await readyUrl(running)
  await using _ = await locks.acquire('waited-for')
  const stream = await get(`${url}/v1/events?key=waited-for`)
  const poll = get(`${url}/v1/wait?key=waited-for&since=-`)
  await expect
    .poll(async () => (await get(`${url}/metrics`, metricsToken)).text())
    .toContain('leasehold_bridge_waits 1')
  // The subscriptions of earlier tests end with their killed programs.
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
  ['a wrong flag', ['--prot', '1'], 2, /Unknown option '--prot'.*Try --help/],
  ['a short token', ['--redis', 'redis://127.0.0.1', '--token', 'sesame'], 2, /--token .*32/],
  [
    'a short token for the numbers',
    ['--redis', 'redis://127.0.0.1', '--token', token, '--metrics-token', 'sesame', '--metrics-port', '0'],
    2,
    /--metrics-token .*32/,
  ],
  ['no token', ['--redis', 'redis://127.0.0.1'], 2, /--token/],
  ['a short secret', ['--redis', 'redis://127.0.0.1', '--ticket-secret', 'sesame'], 2, /--ticket-secret .*32/],
  ['a bad prefix', ['--redis', 'redis://127.0.0.1', '--token', token, '--prefix', '{'], 2, /--prefix must/],
] as const)('%s: it says so and does not start', async (_, args, code, problem) => {
  const { err, ...rest } = await run(args).ended
  expect(rest).toEqual({ code, out: '' })
  expect(linesOf(err)).toEqual([expect.objectContaining({ level: 60, name: 'leasehold-bridge', msg: 'not started' })])
  expect(err).toMatch(problem)
  expect(err).not.toContain('sesame')
})

test('a Redis that does not let it in is a reason not to start, and is told', async () => {
  await using locked = await startRedis({ args: ['--requirepass', 'open'] })
  for (const [url, reason] of [
    [locked.url, /NOAUTH/],
    [`redis://:sesame@127.0.0.1:${locked.port}`, /WRONGPASS/],
  ] as const) {
    const { code, err } = await run(['--redis', url, '--token', token, '--port', '0']).ended
    expect([code, linesOf(err)]).toEqual([1, [expect.objectContaining({ reason: expect.stringMatching(reason) })]])
    expect(err).not.toContain('sesame')
  }
})

test('a Redis user that may not listen, or not read, and a port that is taken, are reasons not to start', async () => {
  await redis.command('ACL', 'SETUSER', 'disconnected', 'on', '>pw', '~lock:*', 'resetchannels', '+@all')
  await redis.command('ACL', 'SETUSER', 'blind', 'on', '>pw', 'resetkeys', '&lock:release:*', '+@all')
  await redis.command('ACL', 'SETUSER', 'enough', 'on', '>pw', '~lock:*', '&lock:release:*', '+@all', '-@dangerous')
  for (const user of ['disconnected', 'blind']) {
    const { code, err } = await run(['--redis', `redis://${user}:pw@127.0.0.1:${redis.port}`, '--token', token]).ended
    expect([code, linesOf(err)]).toEqual([
      1,
      [
        expect.objectContaining({
          reason: expect.stringMatching(/cannot listen .*"lock:".*: Redis refuses .*: NOPERM/),
        }),
      ],
    ])
  }
  const right = run(['--redis', `redis://enough:pw@127.0.0.1:${redis.port}`, '--token', token, '--port', '0'])
  const { port } = new URL(await readyUrl(right))
  const taken = await run(['--redis', redis.url, '--token', token, '--port', port]).ended
  expect(taken).toMatchObject({ code: 1, err: expect.stringMatching(/EADDRINUSE/) })
})

/** On a signal, makes the program write as Node and libraries do on their own. */
const noise = `process.on('SIGUSR2', () => {
  process.emitWarning('a warning')
  for (let at = 0; at < 40; at++) console.log('printed %s', 'text')
  console.error(new Error('printed'))
  setTimeout(() => Promise.reject(Object.assign(new Error('nobody caught it'), { command: { args: ['sesa' + 'me'] } })), 100)
})`

test('all that it writes is JSON: warnings of Node, what libraries print, and an error that ends it', async () => {
  const args = ['--redis', redis.url, '--token', token, '--port', '0']
  const running = run(args, { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(noise)}` })
  await readyUrl(running)
  running.child.kill('SIGUSR2')
  const { code, out, err } = await running.ended
  expect([code, err]).toEqual([1, ''])
  const lines = linesOf(out).slice(2)
  expect(lines.map(({ level, msg, text = '' }) => [level, msg, String(text).split('\n')[0]])).toEqual([
    [30, 'a library wrote to the console', 'printed text'],
    [50, 'a library wrote to the console', 'Error: printed'],
    [40, 'a warning of Node', ''],
    // The lines that were held back to be joined.
    [30, 'a library wrote to the console', 'printed text'],
    [60, 'ended by an error that nobody caught', ''],
  ])
  expect(lines.at(-2)).toMatchObject({ times: 39 })
  expect(lines.at(-1)).toMatchObject({ err: { type: 'Error', message: 'nobody caught it' } })
  expect(out).not.toContain('sesame')
})

test('--version says which it is', async () => {
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(await run(['--version']).ended).toEqual({ code: 0, out: `${version}\n`, err: '' })
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
  // Its last answer stays valid for a second.
  await expect.poll(ready, { interval: 100 }).toBe(503)
  await expect.poll(() => proxy.accepted).toBeGreaterThan(connections)
  proxy.restore()
  await expect.poll(ready, { interval: 100 }).toBe(200)
})
