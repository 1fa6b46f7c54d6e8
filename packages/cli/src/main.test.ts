import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { commandsPerSecond, quiet } from './capacity/model.ts'
import { commands } from './commands.ts'
import { type CliProcess, main } from './main.ts'

const secret = 'the-secret-of-this-test'
const secrets = {
  LEASEHOLD_REDIS: `rediss://user:${secret}@redis.example:6380/0`,
  LEASEHOLD_TOKEN: secret,
  LEASEHOLD_BRIDGE_TOKENS: secret,
}

/** Runs the program in this process, without a terminal. */
async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const nothing = (): undefined => undefined
  const process = { stdin: new PassThrough(), stdout, stderr, env, once: nothing, off: nothing }
  const code = await main(commands, args, process as unknown as CliProcess)
  return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') }
}

describe('the help', () => {
  test('lists every command with what it is for, and the exit codes', async () => {
    const { code, out } = await run(['--help'], secrets)
    expect(code).toBe(0)
    for (const { name } of commands) expect(out).toMatch(new RegExp(`^ {2}${name} .*`, 'm'))
    for (const { summary } of commands) expect(out.replace(/\s+/g, ' ')).toContain(summary)
    expect(out).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}3 .*\n {2}130 /)
    expect(out).not.toContain(secret)
  })

  test.each(commands)('of $name has an example, its options, and no secret that is set', async (command) => {
    const { code, out } = await run([command.name, '--help'], secrets)
    expect(code).toBe(0)
    expect(out).toContain(`Examples:\n  $ leasehold ${command.name}`)
    for (const { flags } of command.options ?? []) expect(out).toContain(flags)
    expect(out.includes('LEASEHOLD_REDIS')).toBe(command.connects)
    expect(out).not.toContain(secret)
  })

  test('says the version', async () => {
    expect(await run(['--version'])).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  })
})

describe('a command line that is wrong', () => {
  test.each([
    [[], {}, /Usage: leasehold/],
    [['list'], {}, /unknown command 'list'/],
    [['ls', '--jsno'], {}, /unknown option '--jsno'[\s\S]*--json\?\)\s*$/],
    [['ls', 'a', 'b'], {}, /too many arguments/],
    [['show'], {}, /missing required argument 'key'/],
    [['show', '-dash'], {}, /unknown option '-dash'[\s\S]*show -- -key/],
    [['ls'], {}, /no Redis: use --redis or LEASEHOLD_REDIS/],
    [['ls'], { LEASEHOLD_REDIS: '' }, /no Redis/],
    [['ls'], { LEASEHOLD_REDIS: `127.0.0.1:6379:${secret}` }, /must be a URL/],
    [['ls', '--redis', 'https://redis.example'], {}, /needs a token/],
    [['ls', '--redis', 'https://redis.example', '--cluster'], secrets, /--cluster and --sentinel are for redis:/],
    [['ls', '--cluster', '--sentinel', 'mymaster'], secrets, /not both/],
    [['ls', '--prefix', '{a}'], secrets, /must not begin with "\{"/],
    [['ls', '--prefix='], secrets, /--prefix must not be empty/],
    [['ls', '--redis', 'redis://h/abc'], {}, /number of a database/],
    [['ls', '--redis', 'redis://h/1.5'], {}, /number of a database/],
    [['ls', '--redis', 'redis://h/1/2'], {}, /number of a database/],
    [['ls', '--redis', 'redis://h/1?db=x'], {}, /must have no "\?"/],
    [['ls', '--redis', 'redis://h/2', '--cluster'], {}, /a cluster has one database/],
    [['ls'], { LEASEHOLD_REDIS: 'redis://:100%@h' }, /percent-encode the password/],
    [['ls'], { LEASEHOLD_REDIS: `redis://u:12/${secret}@h` }, /"@" after the host/],
    [['ls'], { LEASEHOLD_REDIS: `redis://u:12?${secret}@h` }, /"@" after the host/],
    [['ls'], { LEASEHOLD_REDIS: `redis://${secret}#a@h` }, /"@" after the host/],
    [['ls'], { LEASEHOLD_REDIS: `https://${secret}/a@h`, LEASEHOLD_TOKEN: 't' }, /"@" after the host/],
    [['ls', '--sort', 'age'], secrets, /--sort must be one of key, held, expires, waiting/],
    [['ls', '--limit', '0'], secrets, /--limit must be/],
    [['revoke', 'k'], secrets, /needs --yes/],
    [['watch', '--every', 'often'], secrets, /every/],
    [['stress', '--processes', '33'], secrets, /--processes must be a whole number from 1 to 32/],
    [['stress', '--for', '6m'], secrets, /at most 5m/],
    [['stress', '--for', '2s', '--hold', '10s'], secrets, /--hold must be at most --for/],
    [['stress', '--ttl', '1ms'], secrets, /--ttl leaves no time/],
    [['doctor', '--deadline', '0s'], secrets, /: --deadline must be/],
    [['watch', '--every', '1x'], secrets, /: --every must be/],
    [['capacity', '--locks', 'many'], {}, /--locks must be a number, 0 or more/],
    [['capacity', '--per-command', '0'], {}, /--per-command must be a number, 1 or more/],
  ])('is refused before anything is sent, with 2: %j', async (args, env, said) => {
    const { code, out, err } = await run(args, env as Readonly<Record<string, string>>)
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(said)
    expect(err).not.toContain(secret)
  })

  test('is told as JSON where that is asked for', async () => {
    for (const args of [['ls'], ['show'], ['ls', '--wrong'], ['list']]) {
      const { code, err } = await run([...args, '--json'])
      expect([code, JSON.parse(err)]).toMatchObject([
        2,
        { error: { code: 'USAGE', message: expect.not.stringMatching(/^error/) } },
      ])
    }
  })
})

test('a token that is not used is told, and not shown', async () => {
  const { code, err } = await run(['ls', '--redis', 'redis://127.0.0.1:1', '--token', secret])
  expect([code, err]).toMatchObject([
    3,
    expect.stringMatching(/^--token is for a REST endpoint, and is not used here\n/),
  ])
  expect(err).not.toContain(secret)
})

describe('capacity', () => {
  test('answers what the model says, and the price', async () => {
    const args = ['--processes', '4', '--locks', '250', '--held', '100', '--ttl', '30s', '--price', '0.2', '--json']
    const { code, out } = await run(['capacity', ...args])
    const each = commandsPerSecond({ ...quiet, locksPerSecond: 250, held: 100, ttlMs: 30_000 })
    const result = JSON.parse(out) as Record<string, number>
    expect([code, result['commandsPerSecond']]).toEqual([0, 4 * each])
    expect(result['pricePerMonth']).toBeCloseTo((4 * each * 30 * 86_400 * 0.2) / 1e5, 5)
    expect(result['heapBytesPerProcess']).toBeGreaterThan(0)
  })

  test('writes a line for each number, and takes waiters for those of one key', async () => {
    const { out } = await run(['capacity', '--waiters', '500', '--hand-offs', '200', '--processes', '8'])
    expect(out).toMatch(/^commands a second +102$/m)
    expect(out).toMatch(/^heap of each process +650 kB$/m)
  })
})
