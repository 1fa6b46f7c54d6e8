import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { startTcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from '@upstash/redis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type RunningProgram, runProgram } from '../../test-program.ts'

const main = fileURLToPath(new URL('gateway.ts', import.meta.url))
const token = 'sesame-5d1e0c-0123456789abcdef0123'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

function run(args: readonly string[], env: Record<string, string> = {}): RunningProgram {
  const running = runProgram(main, args, env)
  children.push(running.child)
  return running
}

const urlIn = (line: string): string => /http:\/\/\S+/.exec(line)?.[0] ?? ''

test('one command starts it, one line says where, and the unmodified client works', async () => {
  const { child, firstLine, ended } = run(['--redis', redis.url, '--port', '0', '--token', token])
  expect(await firstLine).toMatch(/^leasehold-gateway listens on http:\/\/127\.0\.0\.1:\d+$/)
  const client = new Redis({ url: urlIn(await firstLine), token })
  expect(await client.set('a', { b: 1 })).toBe('OK')
  expect(await client.get('a')).toEqual({ b: 1 })
  child.kill('SIGTERM')
  const { code, out, err } = await ended
  expect(code).toBe(0)
  expect(out.trim().split('\n')).toHaveLength(1)
  expect(out + err).not.toContain(token)
})

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends streams, lets requests finish, and then ends it', async (signal) => {
  await using network = await startTcpProxy({ port: redis.port })
  const redisUrl = `redis://127.0.0.1:${network.port}`
  const env = { LEASEHOLD_GATEWAY_REDIS: redisUrl, LEASEHOLD_GATEWAY_TOKENS: token, LEASEHOLD_GATEWAY_PORT: '0' }
  const { child, firstLine, ended } = run([], env)
  const url = urlIn(await firstLine)
  const stream = await fetch(`${url}/subscribe/a`, { headers: { authorization: `Bearer ${token}` } })
  const answer = network.holdReplies()
  const asked = network.nextRequest()
  const finishing = new Redis({ url, token, retry: { retries: 0 } }).incr(signal)
  await asked
  expect(await redis.command('PUBSUB', 'CHANNELS')).toEqual(['a'])
  child.kill(signal)
  expect(await stream.text()).toBe('data: subscribe,a,1\n\n')
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
  answer()
  expect(await finishing).toBe(1)
  expect(await ended).toMatchObject({ code: 0, out: expect.stringMatching(/^[^\n]*\n$/) })
  await expect.poll(() => redis.command('PUBSUB', 'CHANNELS')).toEqual([])
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
  ['a command that cannot be', ['--redis', 'redis://127.0.0.1', '--token', token, '--allow', 'MULTI'], 1, /MULTI/],
] as const)('%s: it says so and does not start', async (_, args, code, problem) => {
  const { ended } = run(args)
  const { err, ...rest } = await ended
  expect(rest).toEqual({ code, out: '' })
  expect(err).toMatch(problem)
  expect(err).not.toContain('sesame')
})

test('a Redis that does not let it in, and a port that is taken, are reasons not to start', async () => {
  await using locked = await startRedis({ args: ['--requirepass', 'open'] })
  const withoutPassword = await run(['--redis', locked.url, '--token', token, '--port', '0']).ended
  expect(withoutPassword).toMatchObject({ code: 1, err: expect.stringMatching(/NOAUTH/) })
  const wrong = await run(['--redis', `redis://:sesame@127.0.0.1:${locked.port}`, '--token', token]).ended
  expect(wrong).toMatchObject({ code: 1, err: expect.stringMatching(/WRONGPASS/) })
  expect(wrong.err).not.toContain('sesame')
  const right = run(['--redis', `redis://:open@127.0.0.1:${locked.port}`, '--token', token, '--port', '0'])
  const { port } = new URL(urlIn(await right.firstLine))
  const taken = await run(['--redis', redis.url, '--token', token, '--port', port]).ended
  expect(taken).toMatchObject({ code: 1, err: expect.stringMatching(/EADDRINUSE/) })
})

test('it tells an operator when Redis is lost and back, and goes on', async () => {
  await using unsteady = await startRedis()
  const { child, firstLine, ended } = run(['--redis', unsteady.url, '--token', token, '--port', '0'])
  const client = new Redis({ url: urlIn(await firstLine), token })
  await client.set('a', 1)
  await unsteady.restart()
  await expect.poll(() => client.ping().catch(() => 'not yet')).toBe('PONG')
  child.kill('SIGTERM')
  const { err } = await ended
  expect(err.trim().split('\n')).toEqual([
    'leasehold-gateway: connected to Redis',
    expect.stringMatching(/^leasehold-gateway: lost the connection to Redis: /),
    'leasehold-gateway: connected to Redis',
  ])
})

test('--help says how', async () => {
  expect(await run(['--help']).ended).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Usage: leasehold-gateway /),
  })
})
