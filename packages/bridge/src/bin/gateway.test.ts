import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { startTcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from '@upstash/redis'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type RunningProgram, readyUrl, runProgram } from '../../test/program.ts'

const main = fileURLToPath(new URL('gateway.ts', import.meta.url))
const token = 'sesame-5d1e0c-0123456789abcdef-0123456789'

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

interface Line {
  readonly level: number
  readonly name: string
  readonly msg: string
  readonly reason?: string
  readonly hint?: string
}

/** Its output, which is JSON lines and nothing else. */
const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line)
const messagesOf = (text: string): string[] => linesOf(text).map(({ msg }) => msg)
const reasonsOf = (text: string): (string | undefined)[] => linesOf(text).map(({ reason }) => reason)

test('one command starts it, a line says where, and the unmodified client works', async () => {
  const running = run(['--redis', redis.url, '--port', '0', '--token', token])
  const { child, ended } = running
  const url = await readyUrl(running)
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  const client = new Redis({ url, token })
  expect(await client.set('a', { b: 1 })).toBe('OK')
  expect(await client.get('a')).toEqual({ b: 1 })
  child.kill('SIGTERM')
  const { code, out, err } = await ended
  expect(code).toBe(0)
  expect(linesOf(out)).toEqual([
    expect.objectContaining({ name: 'leasehold-gateway', level: 30, msg: 'connected to Redis' }),
    expect.objectContaining({ name: 'leasehold-gateway', level: 30, msg: 'ready', url }),
    expect.objectContaining({ name: 'leasehold-gateway', level: 30, msg: 'stopping', signal: 'SIGTERM' }),
    expect.objectContaining({ name: 'leasehold-gateway', level: 30, msg: 'stopped' }),
  ])
  expect(err).toBe('')
  expect(out).not.toContain(token)
})

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends streams, lets requests finish, and then ends it', async (signal) => {
  await using network = await startTcpProxy({ port: redis.port })
  const redisUrl = `redis://127.0.0.1:${network.port}`
  const env = { LEASEHOLD_GATEWAY_REDIS: redisUrl, LEASEHOLD_GATEWAY_TOKENS: token, LEASEHOLD_GATEWAY_PORT: '0' }
  const running = run([], env)
  const { child, ended } = running
  const url = await readyUrl(running)
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
  const { code, out } = await ended
  expect(code).toBe(0)
  expect(messagesOf(out).slice(-2)).toEqual(['stopping', 'stopped'])
  await expect.poll(() => redis.command('PUBSUB', 'CHANNELS')).toEqual([])
})

test.each([
  [
    'no Redis there',
    ['--redis', 'redis://user:sesame@127.0.0.1:1', '--token', token],
    1,
    /Redis at 127\.0\.0\.1:1: .*ECONNREFUSED/,
  ],
  ['a wrong flag', ['--prot', '1'], 2, /Unknown option '--prot'/],
  ['no token', ['--redis', 'redis://127.0.0.1'], 2, /--token/],
  ['a command that cannot be', ['--redis', 'redis://127.0.0.1', '--token', token, '--allow', 'MULTI'], 2, /MULTI/],
  ['a token that cannot be', ['--redis', 'redis://127.0.0.1', '--token', 'sesame ü'], 2, /--token must/],
] as const)('%s: it says so in a line, and does not start', async (_, args, code, problem) => {
  const { ended } = run(args)
  const { err, ...rest } = await ended
  expect(rest).toEqual({ code, out: '' })
  expect(linesOf(err)).toEqual([
    expect.objectContaining({ name: 'leasehold-gateway', level: 60, reason: expect.stringMatching(problem) }),
  ])
  expect(linesOf(err)[0]?.hint).toBe(code === 2 ? 'Try --help' : undefined)
  expect(err).not.toContain('sesame')
})

describe('--allow', () => {
  const start = (at: { readonly url: string }, ...allow: readonly string[]): RunningProgram =>
    run(['--redis', at.url, '--port', '0', '--token', token, ...allow.flatMap((entry) => ['--allow', entry])])

  test.each([
    ['NONSENSE', /cannot have NONSENSE: this Redis has no command NONSENSE/],
    ['config nonsense', /cannot have CONFIG NONSENSE: in this Redis, CONFIG has no subcommand NONSENSE/],
    ['GET a', /cannot have GET A: in this Redis, GET has no subcommand A/],
  ])('%s is refused by name when it starts: it could not work', async (entry, problem) => {
    const { code, out, err } = await start(redis, 'KEYS', entry).ended
    expect(code).toBe(2)
    expect(messagesOf(out)).toEqual(['connected to Redis'])
    expect(reasonsOf(err)).toEqual([expect.stringMatching(problem)])
  })

  test('what this Redis has is let through, and what it had renamed is not', async () => {
    const names = ['--rename-command', 'KEYS', 'ALL-KEYS', '--rename-command', 'BLPOP', 'WAIT-POP']
    await using renamed = await startRedis({ args: names })
    expect(reasonsOf((await start(renamed, 'KEYS').ended).err)).toEqual([expect.stringMatching(/no command KEYS/)])
    expect(reasonsOf((await start(renamed, 'WAIT-POP').ended).err)).toEqual([
      '--allow cannot have WAIT-POP: it would block the connection that all requests share',
    ])
    const url = await readyUrl(start(renamed, 'all-keys', 'config get', 'XINFO', 'OBJECT'))
    const headers = { authorization: `Bearer ${token}` }
    expect(await (await fetch(`${url}/all-keys/*`, { headers })).json()).toEqual({ result: [] })
    expect(await (await fetch(`${url}/config/get/maxmemory`, { headers })).json()).toHaveProperty('result')
  })

  test('of a user that may not ask for commands cannot be checked, which is a warning', async () => {
    await redis.command('ACL', 'SETUSER', 'least', 'on', '>secret', '~*', '&*', '-@all', '+get', '+ping')
    const running = start({ url: `redis://least:secret@127.0.0.1:${redis.port}` }, 'NONSENSE')
    const url = await readyUrl(running)
    const headers = { authorization: `Bearer ${token}` }
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    expect(await (await fetch(`${url}/get/none`, { headers })).json()).toEqual({ result: null })
    running.child.kill('SIGTERM')
    const { out, err } = await running.ended
    // This includes what the client library would have written to stderr.
    expect(linesOf(out).filter(({ level }) => level === 40)).toEqual([
      expect.objectContaining({ text: expect.stringMatching(/INFO command fails/) }),
      expect.objectContaining({
        msg: 'what --allow names could not be checked',
        reason: expect.stringMatching(/^NOPERM /),
      }),
    ])
    expect(err).toBe('')
  })
})

test('a stream whose reader does not read ends in a line of the log like any other', async () => {
  const running = run(['--redis', redis.url, '--port', '0', '--token', token])
  const { port } = new URL(await readyUrl(running))
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(`GET /subscribe/slow HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
  const listeners = async (): Promise<unknown> => {
    await redis.command('PUBLISH', 'slow', 'x'.repeat(500_000))
    return ((await redis.command('PUBSUB', 'NUMSUB', 'slow')) as readonly unknown[])[1]
  }
  await expect.poll(listeners, { interval: 5 }).toBe(0)
  socket.destroy()
  running.child.kill('SIGTERM')
  const { out, err } = await running.ended
  expect(messagesOf(out)).toContain('stopped')
  expect(err).toBe('')
})

test('a Redis that does not let it in, and a port that is taken, are reasons not to start', async () => {
  await using locked = await startRedis({ args: ['--requirepass', 'open'] })
  const withoutPassword = await run(['--redis', locked.url, '--token', token, '--port', '0']).ended
  expect(withoutPassword).toMatchObject({ code: 1, err: expect.stringMatching(/NOAUTH/) })
  const wrong = await run(['--redis', `redis://:sesame@127.0.0.1:${locked.port}`, '--token', token]).ended
  expect(wrong).toMatchObject({ code: 1, err: expect.stringMatching(/WRONGPASS/) })
  expect(wrong.err).not.toContain('sesame')
  const right = run(['--redis', `redis://:open@127.0.0.1:${locked.port}`, '--token', token, '--port', '0'])
  const { port } = new URL(await readyUrl(right))
  const taken = await run(['--redis', redis.url, '--token', token, '--port', port]).ended
  expect(taken).toMatchObject({ code: 1, err: expect.stringMatching(/EADDRINUSE/) })
})

test('it tells an operator when Redis is lost and back, and goes on', async () => {
  await using unsteady = await startRedis()
  const running = run(['--redis', unsteady.url, '--token', token, '--port', '0'])
  const { child, ended } = running
  const client = new Redis({ url: await readyUrl(running), token })
  await client.set('a', 1)
  await unsteady.restart()
  await expect.poll(() => client.ping().catch(() => 'not yet')).toBe('PONG')
  child.kill('SIGTERM')
  const { out } = await ended
  expect(linesOf(out).filter(({ msg }) => msg.includes('connect'))).toEqual([
    expect.objectContaining({ level: 30, msg: 'connected to Redis' }),
    expect.objectContaining({
      level: 40,
      msg: 'lost the connection to Redis; connecting again',
      reason: expect.any(String),
    }),
    expect.objectContaining({ level: 30, msg: 'connected to Redis' }),
  ])
})

test('--help says how, and --version which', async () => {
  expect(await run(['--help']).ended).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Usage: leasehold-gateway /),
  })
  const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  const { version } = JSON.parse(manifest) as { readonly version: string }
  expect(await run(['--version']).ended).toEqual({ code: 0, out: `${version}\n`, err: '' })
})
