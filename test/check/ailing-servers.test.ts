import { mkdir, rm } from 'node:fs/promises'
import { createLocker } from '@leasehold/core'
import { type CheckReport, check } from '@leasehold/core/check'
import { ioredisBackend, ioredisStore, waitForReplicas } from '@leasehold/ioredis'
import { type RedisServer, startRedis, startRedisCluster, startRedisSentinel } from '@leasehold/testkit/redis'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { quiet } from '../support/quiet.ts'
import { eventually, limit } from '../support/scale.ts'

/*
 * Real servers, each with one fault. The check reports it; the test does what the remedy says, and the finding is gone.
 */

/** Without the option that selects reply types. */
type Options = Omit<RedisOptions, 'replyMapping'>

const password = 'a-password-that-nobody-may-see'
/** What a careful user sets on the client: see the README of the adapter. */
const careful: Options = {
  socketTimeout: 5_000,
  reconnectOnError: (error) => error.message.includes('READONLY'),
}
/** The settings of a server for locks. */
const kept = ['--appendonly', 'yes']

const stops: (() => Promise<unknown> | unknown)[] = []
const started = async (...args: readonly string[]): Promise<RedisServer> => {
  const server = await startRedis({ args })
  stops.push(() => server.stop())
  return server
}
afterAll(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

interface Target {
  readonly server?: RedisServer | undefined
  readonly client?: Redis | Cluster
  readonly options?: Options
  readonly prefix?: string
  readonly deadline?: `${number}s`
}

/** The report of a check over a separate client. */
async function report(target: Target): Promise<CheckReport> {
  const { server, options, prefix, deadline } = target
  const client = quiet(target.client ?? new Redis(server?.port ?? 0, { ...careful, ...options }))
  const backend = ioredisBackend(client, { prefix })
  try {
    const answer = await check(backend, { deadline })
    expect(JSON.stringify(answer)).not.toContain(password)
    return answer
  } finally {
    await backend.notifier.close()
    client.disconnect()
  }
}
/** The findings that ask for something, as `severity CODE`. */
const problems = async (target: Target): Promise<readonly string[]> =>
  (await report(target)).findings
    .filter(({ severity }) => severity !== 'info')
    .map(({ severity, code }) => `${severity} ${code}`)
const codes = async (target: Target): Promise<readonly string[]> =>
  (await report(target)).findings.map(({ code }) => code)
const remedy = async (target: Target, code: string): Promise<string> =>
  (await report(target)).findings.find((found) => found.code === code)?.remedy ?? expect.fail(`no ${code}`)

describe('a server for locks', () => {
  test('has no findings, and the facts are those of the server', async () => {
    const server = await started(...kept)
    const { findings, facts } = await report({ server })
    expect(findings).toEqual([])
    expect(facts).toMatchObject({
      reached: true,
      prefix: 'lock:',
      nodes: [
        { name: '', report: { role: 'primary', cluster: false, evictionPolicy: 'noeviction', appendOnly: true } },
      ],
      ping: { rounds: 5 },
      script: { rounds: 5 },
      wakeUp: { rounds: 1 },
    })
    expect(String(await server.command('INFO', 'server'))).toContain(`redis_version:${facts.nodes[0]?.report?.version}`)
    // The check leaves only its fence record, for `fenceMemory`.
    expect(await server.command('KEYS', '*')).toEqual([expect.stringMatching(/^\{lock:leasehold-check:.*\}:fence$/)])
  })

  test('with a client as it is made by default, has nothing above info', async () => {
    const server = await started(...kept)
    const options = { socketTimeout: undefined, reconnectOnError: undefined } as unknown as Options
    expect(await codes({ server, options })).toEqual(['CLIENT_NO_SOCKET_TIMEOUT', 'CLIENT_STAYS_ON_REPLICA'])
    expect(await problems({ server, options })).toEqual([])
  })
})

describe('a server that forgets', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await started(...kept)
  })
  const set = (...setting: readonly string[]): Promise<unknown> => server.command('CONFIG', 'SET', ...setting)

  test('evicts by any policy but one, and with a limit that is an error', async () => {
    for (const policy of ['allkeys-lru', 'volatile-ttl']) {
      await set('maxmemory-policy', policy)
      expect(await problems({ server })).toEqual(['warning MAY_EVICT_LOCKS'])
      await set('maxmemory', '50mb')
      expect(await problems({ server })).toEqual(['error EVICTS_LOCKS'])
      expect(await remedy({ server }, 'EVICTS_LOCKS')).toContain('`maxmemory-policy noeviction`')
      await set('maxmemory-policy', 'noeviction')
      expect(await problems({ server })).toEqual([])
      await set('maxmemory', '0')
    }
  })

  test('is full, or nearly', async () => {
    const used = Number(/used_memory:(\d+)/.exec(String(await server.command('INFO', 'memory')))?.[1])
    await set('maxmemory', String(Math.round(used * 1.05)))
    expect(await problems({ server })).toEqual(['warning MEMORY_NEARLY_FULL'])
    await set('maxmemory', '1')
    expect(await problems({ server })).toContain('error MEMORY_FULL')
    await set('maxmemory', '0')
    expect(await problems({ server })).toEqual([])
  })

  test('keeps nothing, or snapshots alone', async () => {
    await set('appendonly', 'no')
    expect(await problems({ server })).toEqual(['warning NO_PERSISTENCE'])
    await set('save', '3600 1')
    expect(await codes({ server })).toEqual(['SNAPSHOTS_ONLY'])
    expect(await remedy({ server }, 'SNAPSHOTS_ONLY')).toContain('`appendonly yes`')
    await set('save', '')
    expect(await remedy({ server }, 'NO_PERSISTENCE')).toContain('`appendonly yes`')
    await set('appendonly', 'yes')
    expect(await codes({ server })).toEqual([])
  })

  test('cannot write to its disk', async () => {
    const disk = await started('--enable-protected-configs', 'yes', '--appendonly', 'no', '--save', '3600 1')
    const save = async (status: string): Promise<void> => {
      await disk.command('BGSAVE').catch(() => undefined)
      const saved = new RegExp(`rdb_bgsave_in_progress:0\\r[^]*rdb_last_bgsave_status:${status}`)
      await eventually(async () => saved.test(String(await disk.command('INFO', 'persistence'))))
    }
    const folder = String(((await disk.command('CONFIG', 'GET', 'dir')) as readonly unknown[])[1])
    await rm(folder, { recursive: true })
    await save('err')
    expect(await problems({ server: disk })).toEqual(['error WRITES_STOPPED', 'warning DISK_FAILS'])
    await disk.command('CONFIG', 'SET', 'stop-writes-on-bgsave-error', 'no')
    expect(await problems({ server: disk })).toEqual(['warning DISK_FAILS'])
    await mkdir(folder)
    await disk.command('CONFIG', 'SET', 'dir', folder)
    await save('ok')
    expect(await problems({ server: disk })).toEqual([])
  })

  test('is kept busy by a script', async () => {
    const busy = await started('--busy-reply-threshold', '10', ...kept)
    const client = quiet(new Redis(busy.port, careful))
    await client.ping()
    const endless = busy.command('EVAL', 'while true do end', '0').catch(() => undefined)
    await eventually(() =>
      client.ping().then(
        () => false,
        ({ message }: Error) => message.startsWith('BUSY'),
      ),
    )
    const { findings } = await report({ client, deadline: '3s' })
    expect(findings.map(({ code }) => code)).toEqual(['NOT_READY'])
    await busy.command('SCRIPT', 'KILL')
    await endless
    expect(await problems({ server: busy })).toEqual([])
  })

  test('takes no writes while it lacks replicas', async () => {
    await set('min-replicas-to-write', '1')
    expect(await problems({ server })).toEqual(['error TOO_FEW_REPLICAS'])
    await set('min-replicas-to-write', '0')
    expect(await problems({ server })).toEqual([])
  })
})

describe('a user who may not do all', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await started(...kept)
  })
  const options: Options = { username: 'shop', password }
  const rule = (...rules: readonly string[]): Promise<unknown> => server.command('ACL', 'SETUSER', 'shop', ...rules)
  const all = ['reset', 'on', `>${password}`, '~*', '&*', '+@all']

  const missing: readonly (readonly [what: string, rules: readonly string[], expected: readonly string[]])[] = [
    ['run scripts by their hash', ['-evalsha'], ['error SCRIPTS_FORBIDDEN']],
    ['run scripts by their text', ['-eval'], ['error SCRIPTS_FORBIDDEN']],
    ['run commands within scripts', ['-set', '-pexpire'], ['error COMMANDS_FORBIDDEN']],
    ['use the keys', ['resetkeys', '~other:*'], ['error KEYS_FORBIDDEN']],
    ['announce a release', ['-publish'], ['warning PUBLISH_FORBIDDEN']],
    ['hear of a release', ['-subscribe'], ['warning LISTEN_FORBIDDEN']],
    ['use the channels', ['resetchannels'], ['warning CHANNELS_FORBIDDEN']],
  ]
  test.each(missing)('may not %s, until the remedy is followed', async (_, rules, expected) => {
    // The server knows the scripts, so only a look shows what it would refuse after a restart.
    await codes({ server })
    await rule(...all, ...rules)
    expect(await problems({ server, options })).toEqual(expected)
    for (const each of expected) {
      const text = await remedy({ server, options }, each.split(' ')[1] as string)
      // What an operator would copy from the remedy.
      const [, copied = expect.fail('nothing to copy')] = /`ACL SETUSER <user> ([^`]+)`/.exec(text) ?? []
      await rule(...copied.split(' '))
    }
    expect(await codes({ server, options })).toEqual([])
  })

  test('is told what queues need, and what a check cannot see', async () => {
    await rule(...all, '-zadd', '-hset', '-pubsub', '-info', '-ping')
    const seen = await report({ server, options: { ...options, enableReadyCheck: false } })
    expect(seen.findings.map(({ severity, code }) => `${severity} ${code}`)).toEqual([
      'info QUEUES_FORBIDDEN',
      'info INFO_FORBIDDEN',
      'info PING_FORBIDDEN',
    ])
    expect(seen.facts.ping).toBeNull()
    expect(seen.findings[0]?.message).toMatch(/: pubsub hset zadd \(/)
    for (const { remedy: text } of seen.findings) {
      await rule(...(/`ACL SETUSER <user> ([^`]+)`/.exec(text)?.[1] ?? '').split(' '))
    }
    expect(await codes({ server, options })).toEqual([])
  })

  test('has the wrong password, which no finding shows', async () => {
    await rule(...all)
    const wrong = { username: 'shop', password: 'not-the-password' }
    const { findings, facts } = await report({ server, options: wrong })
    expect(findings.map(({ code }) => code)).toEqual(['LOGIN_REFUSED'])
    expect(JSON.stringify({ findings, facts })).not.toContain(wrong.password)
    expect(await codes({ server, options })).toEqual([])
  })

  test('has a prefix that the user may not use', async () => {
    await rule(...all, 'resetkeys', '~shop:*', '~{*shop:*')
    expect(await problems({ server, options })).toEqual(['error KEYS_FORBIDDEN'])
    expect(await problems({ server, options, prefix: 'shop:' })).toEqual([])
  })
})

describe('a server whose locks have another prefix', () => {
  let server: RedisServer
  let client: Redis
  beforeAll(async () => {
    server = await started(...kept)
    client = quiet(new Redis(server.port))
    stops.push(() => client.disconnect())
  })
  const take = async (prefix: string, key: string): Promise<void> => {
    await using locks = createLocker({ store: ioredisStore(client, { prefix }) })
    await locks.withLock(key, () => undefined)
  }

  test.each(['order:1', 'order:{42}'])(
    'is seen by what a lock leaves, such as %s, and not by what a check leaves',
    async (key) => {
      await server.command('FLUSHALL')
      expect(await codes({ server, prefix: 'shop:' })).toEqual([])
      expect(await codes({ server })).toEqual([])
      await take('shop:', key)
      const { findings } = await report({ server })
      expect(findings).toMatchObject([{ code: 'OTHER_PREFIX', severity: 'info' }])
      expect(findings[0]?.message).toContain(`"shop:${key}"`)
      expect(await codes({ server, prefix: 'shop:' })).toEqual([])
      // Two services may share a server.
      await take('lock:', key)
      expect(await codes({ server })).toEqual([])
    },
  )

  test('is not seen by a user who may not look, nor far down in a large database', async () => {
    await server.command('FLUSHALL')
    await take('shop:', 'order:1')
    await server.command('ACL', 'SETUSER', 'blind', 'on', `>${password}`, '~*', '&*', '+@all', '-scan')
    expect(await codes({ server, options: { username: 'blind', password } })).toEqual([])
    const fill = client.pipeline()
    for (let at = 0; at < 10_000; at++) fill.set(`session:${at}`, '')
    await fill.exec()
    const before = await calls('scan')
    await report({ server })
    expect((await calls('scan')) - before).toBeLessThanOrEqual(4)
  })
  const calls = async (command: string): Promise<number> =>
    Number(
      new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(String(await server.command('INFO', 'commandstats')))?.[1] ??
        0,
    )
})

describe('a server of the wrong kind', { concurrent: true }, () => {
  test('a replica; its primary is none', async () => {
    const primary = await started(...kept)
    const replica = await startRedis({ replicaOf: primary, args: kept })
    stops.push(() => replica.stop())
    expect(await problems({ server: replica })).toEqual(['error IS_REPLICA'])
    expect((await report({ server: replica })).facts).toMatchObject({ nodes: [{ report: { role: 'replica' } }] })
    expect(await problems({ server: primary })).toEqual([])
  })

  test('a Sentinel; the primary that it names is none', async () => {
    const set = await startRedisSentinel({ replicas: 0, sentinels: 1, args: kept })
    stops.push(() => set.stop())
    const [sentinel] = set.sentinels
    expect(await problems({ server: sentinel })).toEqual(['error IS_SENTINEL'])
    const { port = 0 } = sentinel ?? {}
    const options = { sentinels: [{ host: '127.0.0.1', port }], name: set.name }
    expect(await problems({ options })).toEqual([])
  })

  test('a node of a cluster behind a plain client; a cluster client finds nothing', async () => {
    const cluster = await startRedisCluster({ args: kept })
    stops.push(() => cluster.stop())
    const [server] = cluster.nodes
    expect(await problems({ server })).toEqual(['error CLUSTER_NEEDS_CLIENT'])
    const { port = 0 } = server ?? {}
    const client = new Cluster([{ host: '127.0.0.1', port }], { redisOptions: { socketTimeout: 5_000 } })
    const { findings, facts } = await report({ client })
    expect(findings).toEqual([])
    expect(facts.nodes).toHaveLength(3)
  })

  test('a cluster of which some nodes evict, and one is silent: they are named', async () => {
    const cluster = await startRedisCluster({ args: kept })
    stops.push(() => cluster.stop())
    const [first, second, third] = cluster.nodes
    const { port = 0 } = first ?? {}
    const open = (): Cluster => new Cluster([{ host: '127.0.0.1', port }], { redisOptions: { socketTimeout: 5_000 } })
    for (const node of [first, second]) await node?.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    const [evicting] = (await report({ client: open() })).findings
    expect(evicting).toMatchObject({ code: 'MAY_EVICT_LOCKS' })
    const named = cluster.nodes.map((node) => evicting?.message.includes(`127.0.0.1:${node.port}`))
    expect(named).toEqual([true, true, false])
    third?.pause()
    expect(await problems({ client: open(), deadline: '1s' })).toContain('error UNREACHABLE')
    third?.resume()
  })

  test('a cluster without its slots; with all of them on one node, a plain client works', async () => {
    const server = await started('--cluster-enabled', 'yes', ...kept)
    expect(await problems({ server })).toEqual(['error CLUSTER_DOWN'])
    await server.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
    await eventually(async () => String(await server.command('CLUSTER', 'INFO')).includes('cluster_state:ok'))
    expect(await codes({ server })).toEqual(['CLUSTER_ONE_NODE'])
  })

  test('without the replicas that its client waits for', async () => {
    const primary = await started(...kept)
    const findings = async (): Promise<readonly string[]> => {
      const client = quiet(new Redis(primary.port, careful))
      const { store } = waitForReplicas(ioredisBackend(client), { replicas: 1 })
      const answer = await check({ store }).finally(() => client.disconnect())
      return answer.findings.map(({ severity, code }) => `${severity} ${code}`)
    }
    expect(await findings()).toEqual(['error TOO_FEW_REPLICAS'])
    const replica = await startRedis({ replicaOf: primary, args: kept })
    stops.push(() => replica.stop())
    // A replica acknowledges what it has once a second.
    await eventually(async () => (await findings()).length === 0)
  })

  test('without scripts', async () => {
    const server = await started('--rename-command', 'EVAL', '', '--rename-command', 'EVALSHA', '', ...kept)
    expect(await problems({ server })).toEqual(['error NO_SCRIPTS'])
  })

  test('no cluster, behind a client for one', async () => {
    const server = await started(...kept)
    const client = new Cluster([{ host: '127.0.0.1', port: server.port }], { redisOptions: { socketTimeout: 5_000 } })
    expect(await problems({ client, deadline: '3s' })).toEqual(['error NOT_A_CLUSTER'])
  })
})

describe('a server that does not answer', { concurrent: true }, () => {
  test('is a finding, within the deadline', async () => {
    const server = await started(...kept)
    const client = quiet(new Redis({ port: server.port }))
    await client.ping()
    server.pause()
    const since = performance.now()
    const { findings, facts } = await report({ client, deadline: '1s' })
    expect([findings[0]?.code, facts.reached]).toEqual(['UNREACHABLE', false])
    expect(performance.now() - since).toBeLessThan(limit(1_500))
    server.resume()
    expect(await problems({ server })).toEqual([])
  })

  test('that nobody runs is a finding, with the words of the system', async () => {
    const server = await started()
    await server.kill()
    const { findings } = await report({ server, deadline: '1s' })
    expect(findings[0]).toMatchObject({ code: 'UNREACHABLE', message: expect.stringContaining('ECONNREFUSED') })
  })

  test('a signal ends the check with its own reason', async () => {
    const server = await started()
    const client = quiet(new Redis({ port: server.port }))
    await client.ping()
    server.pause()
    const reason = new Error('enough')
    const backend = ioredisBackend(client)
    const controller = new AbortController()
    const checking = check(backend, { signal: controller.signal })
    controller.abort(reason)
    await expect(checking).rejects.toBe(reason)
    server.resume()
    client.disconnect()
  })
})
