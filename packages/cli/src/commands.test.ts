import { readFileSync } from 'node:fs'
import { createLocker, type Locker } from '@leasehold/core'
import { fifo } from '@leasehold/core/queue'
import { readWriteLock } from '@leasehold/core/read-write'
import { semaphore } from '@leasehold/core/semaphore'
import { ioredisBackend } from '@leasehold/ioredis'
import { startTcpProxy } from '@leasehold/testkit'
import { type RedisCluster, type RedisServer, startRedisCluster } from '@leasehold/testkit/redis'
import { Cluster, Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '../../upstash/test/gateway.ts'
import { type Ended, run, start } from '../test/program.ts'
import { openConnection } from './connection/connection.ts'

/* The program as scripts use it: exit codes, JSON, lines. Over TCP and over HTTP. */

const secret = 'the-password-of-this-test'
let gateway: TestGateway
let server: RedisServer
let client: Redis
let locks: Locker
beforeAll(async () => {
  gateway = await startTestGateway()
  server = gateway.redis
  client = new Redis(server.port)
  locks = createLocker({ ...ioredisBackend(client), name: 'orders-7' })
})
afterAll(async () => {
  await locks.close({ grace: 0 })
  client.disconnect()
  await gateway[Symbol.asyncDispose]()
})

type Env = Readonly<Record<string, string>>
/** The variables that the bridge and the gateway read, and this program's own. */
const tcp = (): Env => ({ LEASEHOLD_BRIDGE_REDIS: server.url })
const http = (): Env => ({ LEASEHOLD_REDIS: gateway.url, LEASEHOLD_GATEWAY_TOKENS: `${gateway.token},another` })
const json = ({ out }: Ended): unknown => JSON.parse(out)
const jsonLines = ({ out }: Ended): unknown[] =>
  out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

describe.each([
  ['TCP', tcp],
  ['HTTP', http],
])('over %s', (way, env) => {
  test('ls writes an object a line', async () => {
    const [one, two] = [`${way}:ls:one`, `${way}:ls:two`]
    const lease = await locks.acquire(two, { ttl: '30s' })
    await locks.acquire(one, { ttl: '1m' })
    const objects = await run(['ls', `${way}:ls:*`, '--json', '--sort', 'held'], env())
    expect(objects.code).toBe(0)
    expect(jsonLines(objects)).toMatchObject([
      { key: two, kind: 'exclusive', holders: 1, holder: 'orders-7', fence: lease.fence, waiting: 0 },
      { key: one },
    ])
  })

  test('watch writes a line for each change, and ends with 0 when it is interrupted', async () => {
    const key = `${way}:watch`
    const lease = await locks.acquire(key, { ttl: '30s' })
    const program = start(['watch', `${key}*`, '--every', '100ms', '--json'], env())
    await expect.poll(program.out).toContain('"held"')
    await lease.release()
    await expect.poll(program.out).toContain(way === 'TCP' ? '"released"' : '"gone"')
    program.child.kill('SIGINT')
    const ended = await program.ended
    expect(ended.code).toBe(0)
    expect(jsonLines(ended)[0]).toMatchObject({
      ...{
        change: 'held',
        key,
        holder: 'orders-7',
        fence: lease.fence,
        holders: 1,
        at: expect.stringMatching(/^\d{4}-/),
      },
    })
    if (way === 'HTTP') expect(ended.err).toContain('releases are not heard over HTTP')
  })

  test('stress judges, cleans up, and shows no secret in a list of processes', async () => {
    const program = start(['stress', '--processes', '2', '--for', '1s', '--json'], env())
    const { pid } = program.child
    const children = (): string[] => textOf(`/proc/${pid}/task/${pid}/children`).trim().split(' ')
    const lines = (): string => [pid, ...children()].map((each) => textOf(`/proc/${each}/cmdline`)).join('\n')
    await expect.poll(lines).toContain('stress-process')
    expect(lines()).not.toMatch(/redis:|http:/)
    const ended = await program.ended
    expect([ended.code, json(ended)]).toMatchObject([0, { kept: true, overlaps: 0, fencesOutOfOrder: 0, failures: 0 }])
    expect((json(ended) as { holds: number }).holds).toBeGreaterThan(0)
    await expect.poll(() => client.keys('*leasehold-stress*')).toEqual([])
  })
})

test('a table is as wide as it has to be where no terminal asks for less, and has no colors', async () => {
  const key = `table:${'long-'.repeat(40)}`
  await Promise.all([key, 'table:two'].map((each) => locks.acquire(each, { ttl: '30s' })))
  const { code, out, err } = await run(['ls', 'table:*', '--limit', '1'], tcp())
  expect([code, err]).toEqual([0, '1 more\n'])
  expect(out).toContain(key)
  expect(out).not.toContain('\u001b')
})

describe('one lock', () => {
  test('show writes what is known of any kind, and exits with 1 for a lock that is free', async () => {
    const pool = `show:pool`
    await semaphore(locks, pool, { permits: 3 }).acquire({ permits: 2 })
    semaphore(locks, pool, { permits: 3 })
      .acquire({ permits: 3, wait: '1m' })
      .catch(() => undefined)
    await expect.poll(() => server.command('ZCARD', `{lock:${pool}}:queue`)).toBe(1)
    const doc = readWriteLock(locks, 'show:doc')
    await doc.read()
    doc.write({ wait: '1m' }).catch(() => undefined)
    await expect.poll(() => server.command('ZCARD', '{lock:show:doc}:queue')).toBe(1)
    expect((await run(['show', 'show:doc'], tcp())).out).toMatch(/reads[\s\S]*In its queue: 1\n +1 +writes\n/)
    const [shown, plain, free] = await Promise.all([
      run(['show', pool, '--json'], tcp()),
      run(['show', pool], tcp()),
      run(['show', `nobody`, '--json'], tcp()),
    ])
    expect([shown.code, json(shown)]).toMatchObject([
      0,
      {
        ...{ held: true, key: pool, kind: 'semaphore', capacity: 3, waiting: 1, holders: 1 },
        heldBy: [{ holder: 'orders-7', permits: 2, fence: expect.any(Number), since: expect.any(String) }],
        waiters: [{ permits: 3, hasTurn: false }],
      },
    ])
    expect(plain.out).toMatch(/semaphore of 3 permits, 2 held[\s\S]*orders-7[\s\S]*In its queue: 1\n +1 +wants 3/)
    expect([free.code, json(free)]).toEqual([1, { key: `nobody`, held: false }])
    const prefixed = await Promise.all([run(['show', `lock:${pool}`], tcp()), run(['ls', 'lock:show:*'], tcp())])
    expect(prefixed.map(({ err }) => err)).toEqual([
      'Write the key without the prefix lock:\n',
      'No locks match under this prefix\nWrite the pattern without the prefix lock:\n',
    ])
  })

  test('revoke needs --yes, says whom it was taken from, and exits with 1 where nobody has it', async () => {
    const key = `revoke`
    const lease = await locks.acquire(key, { ttl: '30s' })
    expect(await run(['revoke', key], tcp())).toMatchObject({ code: 2, out: '' })
    expect(await locks.isLocked(key)).toBe(true)
    const revoked = await run(['revoke', key, '--yes', '--json'], tcp())
    const from = [{ holder: 'orders-7', fence: lease.fence }]
    expect([revoked.code, json(revoked)]).toMatchObject([0, { key, revoked: true, from }])
    const again = await run(['revoke', key, '--yes', '--json'], tcp())
    expect([again.code, json(again)]).toEqual([1, { key, revoked: false, reason: 'free', from: [] }])
  })

  test('revoke --yes takes nothing from another who has the lock by then, and says who', async () => {
    const key = 'revoke:gap'
    await using proxy = await startTcpProxy({ port: server.port })
    const env = { LEASEHOLD_BRIDGE_REDIS: `redis://127.0.0.1:${proxy.port}` }
    const first = await locks.acquire(key, { ttl: '30s' })
    // From here on the server knows the scripts of a report, and each is seen once.
    await run(['show', key], env)
    const monitor = await client.monitor()
    let reads = 0
    const reported = new Promise<void>((resolve) => {
      monitor.on('monitor', (_: string, args: readonly string[], source: string) => {
        if (source === 'lua' || !args.join().includes(key) || ++reads < 2) return
        proxy.blackHole()
        resolve()
      })
    })
    const revoking = run(['revoke', key, '--yes', '--json'], env)
    await reported
    monitor.disconnect()
    await first.release()
    const { fence } = await locks.acquire(key, { ttl: '30s' })
    proxy.restore()
    const ended = await revoking
    expect([ended.code, json(ended)]).toEqual([1, { key, revoked: false, reason: 'changed-hands', from: [] }])
    expect(await locks.inspect(key)).toMatchObject({ held: true, fence })
  })
})

test('stress finds out where somebody deletes locks', async () => {
  // Nobody is told of a deletion. A waiter of one process checks once a second, while the other has holder after holder.
  const program = start(['stress', '--processes', '2', '--for', '3s', '--hold', '200ms', '--json'], tcp())
  let over = false
  void program.ended.then(() => {
    over = true
  })
  while (!over) {
    for (const key of await client.keys('lock:leasehold-stress-*')) await client.del(key)
  }
  const ended = await program.ended
  expect([ended.code, json(ended)]).toMatchObject([1, { kept: false }])
  expect((json(ended) as { overlaps: number }).overlaps).toBeGreaterThan(0)
})

describe('what goes wrong', () => {
  test.each([
    ['--cluster on a server that is no cluster', ['ls', '--cluster'], '', /leave out --cluster/],
    ['--sentinel on a server that is no Sentinel', ['ls', '--sentinel', 'mymaster'], '', /leave out --sentinel/],
    ['a database that there is not', ['ls'], '/99', /number of the database/],
  ])('%s is told with what to try', async (_, args, database, hint) => {
    const { code, err } = await run(args, { LEASEHOLD_REDIS: server.url + database })
    expect([code, err]).toMatchObject([3, expect.stringMatching(hint)])
  })

  test('revoke says what its user lacks, and stress that there is nothing to judge', async () => {
    await server.command('ACL', 'SETUSER', 'reader', 'on', `>${secret}`, '~*', '&*', '+@all', '-set', '-del')
    const env = { LEASEHOLD_REDIS: `redis://reader:${secret}@127.0.0.1:${server.port}` }
    await locks.acquire('lacking', { ttl: '30s' })
    const revoked = await run(['revoke', 'lacking', '--yes'], env)
    expect([revoked.code, revoked.err]).toMatchObject([3, expect.stringContaining('revoke needs +set +del +publish')])
    const stressed = await run(['stress', '--processes', '1', '--for', '200ms'], env)
    expect(stressed.code).toBe(3)
    expect(stressed.out).toMatch(/^fences +-$[\s\S]*Nothing to judge/m)
  })

  test.each([
    [
      'a server that is away',
      { LEASEHOLD_REDIS: `redis://u:${secret}@127.0.0.1:1` },
      /redis:\/\/127\.0\.0\.1:1: connect ECONNREFUSED/,
    ],
    ['a wrong password', () => ({ LEASEHOLD_REDIS: `redis://u:${secret}@127.0.0.1:${server.port}` }), /WRONGPASS/],
    ['a wrong token', () => ({ LEASEHOLD_REDIS: gateway.url, LEASEHOLD_TOKEN: secret }), /refused|token/],
  ] as const)('%s is told with 3, without the secret', async (_, env, said) => {
    const { code, out, err } = await run(['ls'], (typeof env === 'function' ? env() : env) as Env)
    expect([code, out]).toEqual([3, ''])
    expect(err).toMatch(said)
    expect(err).not.toContain(secret)
  })

  test('watch ends with 3 where it may not list the locks, though it hears releases', async () => {
    await server.command('ACL', 'SETUSER', 'blind', 'on', `>${secret}`, '~*', '&*', '+@all', '-scan')
    const { code, out, err } = await run(['watch'], {
      LEASEHOLD_REDIS: `redis://blind:${secret}@127.0.0.1:${server.port}`,
    })
    expect([code, out]).toEqual([3, ''])
    expect(err).toMatch(/NOPERM|can't run this command/)
  })

  test('watch says what follows if it may not listen', async () => {
    await server.command('ACL', 'SETUSER', 'deaf', 'on', `>${secret}`, '~*', '&*', '+@all', '-psubscribe')
    const { code, err } = await run(['watch', '--for', '300ms'], {
      LEASEHOLD_REDIS: `redis://deaf:${secret}@127.0.0.1:${server.port}`,
    })
    expect([code, err]).toEqual([0, expect.stringMatching(/not heard, so a lease that ends is "gone".*psubscribe/)])
  })

  test('watch says on stderr what it watches, though nothing happens', async () => {
    const { code, out, err } = await run(['watch', 'idle:*', '--for', '300ms'], tcp())
    expect([code, out]).toEqual([0, ''])
    expect(err).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}watching .*:\d+ lock:idle:\*\n$/)
  })

  test('a reader who leaves ends the program with 130, and without a word', async () => {
    const program = start(['watch', 'unread:*', '--every', '50ms', '--json'], tcp())
    await locks.acquire('unread:1', { ttl: '30s' })
    await expect.poll(program.out).toContain('unread:1')
    program.child.stdout.destroy()
    await locks.acquire('unread:2', { ttl: '30s' })
    expect(await program.ended).toMatchObject({ code: 130, err: '' })
  })

  test('something that is no lock is told with 3: it is neither held nor free', async () => {
    await client.hset('lock:a-hash', 'a', 'b')
    for (const args of [
      ['show', 'a-hash'],
      ['revoke', 'a-hash', '--yes'],
    ]) {
      const { code, err } = await run(args, tcp())
      expect([code, err]).toMatchObject([3, expect.stringContaining('not a lock')])
    }
  })

  test('Ctrl-C ends stress with 130, and nothing of it is left', async () => {
    const program = start(['stress', '--for', '30s', '--processes', '1', '--prefix', 'interrupted:'], tcp())
    await expect.poll(() => client.keys('interrupted:*')).toHaveLength(1)
    program.child.kill('SIGINT')
    expect((await program.ended).code).toBe(130)
    expect(await client.keys('*interrupted:*')).toEqual([])
  })
})

test('watch says that Redis does not answer, and when it does again', async () => {
  await using proxy = await startTcpProxy({ port: server.port })
  await using lease = await locks.acquire('outage:seen', { ttl: '1m' })
  const watching = start(['watch', 'outage:*', '--every', '50ms'], {
    LEASEHOLD_REDIS: `redis://127.0.0.1:${proxy.port}`,
  })
  // The first look has succeeded: if it failed, the program would end.
  await expect.poll(watching.out, { timeout: 10_000 }).toContain(lease.key)
  proxy.refuse()
  proxy.cut()
  await expect.poll(watching.err, { timeout: 10_000 }).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}The lock store/m)
  await proxy.accept()
  await expect.poll(watching.err, { timeout: 10_000 }).toMatch(/Redis answers again since \d\d:\d\d:\d\d UTC/)
  watching.child.kill('SIGINT')
  await watching.ended
})

test('a connection that cannot be used is not left open', async () => {
  const settings = { url: server.url, token: undefined, prefix: '', cluster: false, sentinel: undefined }
  const clients = async (): Promise<number> => ((await client.client('LIST')) as string).trim().split('\n').length
  const before = await clients()
  await expect(openConnection(settings, new AbortController().signal)).rejects.toThrow('prefix')
  await expect.poll(clients).toBe(before)
})

test('an error that nobody awaits ends the program with 3, by its kind alone', async () => {
  const throwing = `setInterval(() => process.listenerCount('uncaughtException') && Reflect.get(null, '${secret}'), 10)`
  const preloaded = `--import=data:text/javascript,${encodeURIComponent(throwing)}`
  const { code, out, err } = await run(['watch', '--json'], { ...tcp(), NODE_OPTIONS: preloaded })
  expect([code, out, JSON.parse(err)]).toMatchObject([
    3,
    '',
    { error: { message: expect.stringMatching(/: TypeError$/) } },
  ])
})

describe('a cluster', () => {
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await startRedisCluster()
  })
  afterAll(() => cluster.stop())

  test('is listed whole with --cluster, and without it the program says to add that', async () => {
    const redis = new Cluster(cluster.nodes.map(({ host, port }) => ({ host, port })))
    await using held = createLocker({ ...ioredisBackend(redis), name: 'of-a-cluster' })
    const keys = Array.from({ length: 20 }, (_, at) => `order:${10 + at}`)
    await Promise.all(keys.map((key) => held.acquire(key, { ttl: '1m' })))
    await held.acquire('order:99', { queue: fifo(), ttl: '1m' })
    const env = { LEASEHOLD_REDIS: cluster.nodes[1]?.url ?? '' }
    const [whole, shown, alone] = await Promise.all([
      run(['ls', '--cluster', '--json'], env),
      run(['show', 'order:10', '--cluster', '--json'], env),
      run(['ls'], env),
    ])
    expect(jsonLines(whole).map((lock) => (lock as { key: string }).key)).toEqual([...keys, 'order:99'])
    expect(json(shown)).toMatchObject({ key: 'order:10', held: true })
    expect([alone.code, alone.err]).toMatchObject([3, expect.stringContaining('add --cluster')])
    await held.close({ grace: 0 })
    redis.disconnect()
  })
})

/** The file's text; empty once the process has ended. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
