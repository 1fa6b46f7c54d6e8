import { bridgeNotifier } from '@leasehold/bridge-client'
import { systemClock } from '@leasehold/core'
import { type CheckReport, type CheckTarget, check, checker } from '@leasehold/core/check'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { ioredisBackend, ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bridgeToken, startTestBridge, type TestBridge } from '../../packages/bridge/test/bridge.ts'
import { startTestGateway, type TestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { storeWith } from '../../packages/core/src/store/store-with.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, eventually } from '../support/scale.ts'

/*
 * What a check reports over HTTP, with a bridge, with a notifier that does not match its store, and for stores without
 * a server.
 */

const codes = ({ findings }: CheckReport): readonly string[] =>
  findings.map(({ severity, code }) => `${severity} ${code}`)
/** Checks a store and its notifier, and closes the notifier. */
async function found(target: CheckTarget): Promise<CheckReport> {
  try {
    return await check(target)
  } finally {
    await target.notifier?.close()
  }
}

describe('over HTTP', () => {
  let gateway: TestGateway
  let set: (...setting: readonly string[]) => Promise<unknown>
  beforeAll(async () => {
    gateway = await startTestGateway()
    set = (...setting) => gateway.server.command('CONFIG', 'SET', ...setting)
    await set('appendonly', 'yes')
  })
  afterAll(() => gateway[Symbol.asyncDispose]())
  const store = (options: object = {}): CheckTarget => ({ store: fetchStore({ url: gateway.url, token, ...options }) })

  test('a good server has no findings, and is seen through scripts alone', async () => {
    const { findings, facts } = await found(store())
    expect(findings).toEqual([])
    expect(facts).toMatchObject({
      reached: true,
      nodes: [{ report: { product: 'redis', role: 'primary', appendOnly: true } }],
      ping: null,
      script: { rounds: 5 },
      wakeUp: null,
    })
  })

  test('eviction and a missing append-only file are seen', async () => {
    await set('maxmemory', '100mb')
    await set('maxmemory-policy', 'allkeys-lru')
    await set('appendonly', 'no')
    expect(codes(await found(store()))).toEqual(['error EVICTS_LOCKS', 'info NO_APPEND_ONLY_FILE'])
    await set('maxmemory-policy', 'noeviction')
    await set('appendonly', 'yes')
    expect(codes(await found(store()))).toEqual([])
  })

  test.each([
    ['-publish', '+publish', 'warning PUBLISH_FORBIDDEN'],
    ['-evalsha', '+evalsha', 'error SCRIPTS_FORBIDDEN'],
    ['-set', '+set', 'error COMMANDS_FORBIDDEN'],
    ['-zadd', '+zadd', 'info QUEUES_FORBIDDEN'],
    ['-info', '+info', 'info INFO_FORBIDDEN'],
  ])('with %s for the user of the gateway, it says so', async (without, again, expected) => {
    await gateway.server.command('ACL', 'SETUSER', 'default', without)
    expect(codes(await found(store()))).toEqual([expected])
    await gateway.server.command('ACL', 'SETUSER', 'default', again)
    expect(codes(await found(store()))).toEqual([])
  })

  test('a wrong token is shown by no finding', async () => {
    const wrong = 'wrong-token-0123456789abcdef-0123456789abcdef'
    const answer = await found(store({ token: wrong }))
    expect(codes(answer)).toEqual(['error LOGIN_REFUSED'])
    expect(JSON.stringify(answer)).not.toContain(wrong)
  })

  test('nobody at the address', async () => {
    const answer = await found(store({ url: 'http://127.0.0.1:9' }))
    expect([codes(answer), answer.facts.reached]).toEqual([['error UNREACHABLE'], false])
  })
})

describe('with a bridge', () => {
  let bridge: TestBridge
  beforeAll(async () => {
    bridge = await startTestBridge()
    await bridge.server.command('CONFIG', 'SET', 'appendonly', 'yes')
  })
  afterAll(() => bridge[Symbol.asyncDispose]())
  const with_ = (options: object): CheckTarget => ({
    store: bridge.store,
    notifier: bridgeNotifier({ url: bridge.url, token: bridgeToken, ...options }),
  })
  /** Findings about clients are not the subject here. */
  const problems = (answer: CheckReport): readonly string[] => codes(answer).filter((code) => !code.startsWith('info'))

  test.each(['sse', 'long-poll'] as const)('a release is heard over %s', async (mode) => {
    const answer = await found(with_({ mode }))
    expect(problems(answer)).toEqual([])
    expect(answer.facts.wakeUp).toMatchObject({ rounds: 1 })
  })

  test('a wrong token, a wrong prefix, and nobody there', async () => {
    const wrong = 'wrong-token-0123456789abcdef-0123456789abcdef'
    const refused = await found(with_({ token: wrong }))
    expect(problems(refused)).toEqual(['warning NOT_LISTENING'])
    expect(JSON.stringify(refused)).not.toContain(wrong)
    expect(problems(await found(with_({ prefix: 'shop:' })))).toEqual(['error PREFIX_MISMATCH'])
    const shop = ioredisStore(quiet(new Redis(bridge.server.port)), { prefix: 'shop:' })
    const apart = { store: shop, notifier: bridgeNotifier({ url: bridge.url, token: bridgeToken, prefix: 'shop:' }) }
    expect(problems(await found(apart))).toEqual(['error PREFIX_MISMATCH'])
    expect(problems(await found(with_({ url: 'http://127.0.0.1:9' })))).toEqual(['warning NOT_LISTENING'])
  })
})

describe('a notifier', { concurrent: true }, () => {
  let [one, other]: RedisServer[] = []
  const clients: Redis[] = []
  const connect = (server: RedisServer | undefined): Redis => {
    const client = quiet(new Redis(server?.port ?? 0))
    clients.push(client)
    return client
  }
  beforeAll(async () => {
    ;[one, other] = await Promise.all([startRedis({ args: ['--appendonly', 'yes'] }), startRedis()])
  })
  afterAll(async () => {
    for (const client of clients) client.disconnect()
    await Promise.all([one?.stop(), other?.stop()])
  })

  test('that listens to another server than the store’s hears nothing', async () => {
    const store = ioredisStore(connect(one))
    expect(codes(await found({ store, notifier: ioredisNotifier(connect(other)) }))).toContain('warning NOT_HEARD')
    expect(codes(await found({ store, notifier: ioredisNotifier(connect(one)) }))).not.toContain('warning NOT_HEARD')
  })

  test('is listened with as often as asked, and stays open', async () => {
    const backend = ioredisBackend(connect(one))
    const { facts } = await check(backend, { rounds: 20 })
    expect(facts).toMatchObject({ wakeUp: { rounds: 20 }, ping: { rounds: 20 }, script: { rounds: 20 } })
    const subscription = backend.notifier.subscribe('a', '-')
    await subscription.ready
    expect(subscription.live).toBe(true)
    await backend.notifier.close()
  })

  test('that never gets ready ends with the caller’s signal, and the lock of the check is given back', async () => {
    const store = ioredisStore(connect(one), { prefix: 'left:' })
    const stuck = ioredisNotifier(connect(one), { prefix: 'left:' })
    const controller = new AbortController()
    const reason = new Error('enough')
    stuck.subscribe = (key, cursor) => {
      controller.abort(reason)
      return Object.assign(Object.create(memoryNotifier(memoryStore()).subscribe(key, cursor)), {
        ready: new Promise<void>(() => undefined),
        close: () => undefined,
      })
    }
    await expect(check({ store, notifier: stuck }, { signal: controller.signal })).rejects.toBe(reason)
    // Its ttl is 10 s.
    await eventually(async () => String(await one?.command('KEYS', 'left:*')) === '', 5_000)
    await stuck.close()
  })

  test('the store’s clock is compared with that of the last check', async () => {
    const store = ioredisStore(connect(one))
    let setForwardMs = 0
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + setForwardMs }
    const checkUp = checker({ store }, clock)
    const step = async (): Promise<string | undefined> =>
      (await checkUp.run()).findings.find(({ code }) => code === 'CLOCK_STEP')?.message
    expect([await step(), await step()]).toEqual([undefined, undefined])
    // Seen from here, a clock that was set back stood still while ours went on.
    setForwardMs += 300_000
    expect(await step()).toMatch(/set back by (299|300)\.\d s/)
    expect(await step()).toBeUndefined()
    setForwardMs -= 5_000
    expect(await step()).toMatch(/set forward by [45]\.\d s/)
  })
})

describe('options of a client', () => {
  const of = async (options: object): Promise<readonly string[]> => {
    const client = quiet(new Redis({ lazyConnect: true, port: 1, ...options }))
    const answer = await check({ store: ioredisStore(client) }, { deadline: 20 })
    client.disconnect()
    return codes(answer).filter((code) => code.includes('CLIENT_'))
  }
  test('that endanger locks are told, and gone when they are set as the remedy says', async () => {
    const careful = { socketTimeout: 5_000, reconnectOnError: () => false }
    expect(await of({})).toEqual(['info CLIENT_NO_SOCKET_TIMEOUT', 'info CLIENT_STAYS_ON_REPLICA'])
    expect(await of({ ...careful, commandTimeout: 200, retryStrategy: null })).toEqual([
      'warning CLIENT_NEVER_RECONNECTS',
      'warning CLIENT_COMMAND_TIMEOUT',
    ])
    // Sentinels do not cut connections to a server that somebody else has made a replica.
    const sentinel = { sentinels: [{ host: '127.0.0.1', port: 1 }], name: 'locks', socketTimeout: 5_000 }
    expect(await of(sentinel)).toEqual(['info CLIENT_STAYS_ON_REPLICA'])
    // Options that make no difference to locks are not reported.
    const harmless = { enableOfflineQueue: false, maxRetriesPerRequest: null, enableAutoPipelining: true }
    expect(await of({ ...careful, ...harmless, commandTimeout: 1_000 })).toEqual([])
  })
})

describe('a store without a server', () => {
  test('in memory: there is nothing to check, and it says what memory does not give', async () => {
    const store = memoryStore()
    const { findings, facts } = await found({ store, notifier: memoryNotifier(store) })
    expect(findings).toMatchObject([{ code: 'ONE_PROCESS', severity: 'info' }])
    expect(facts).toMatchObject({ reached: true, prefix: null, nodes: [], ping: null, wakeUp: { rounds: 1 } })
  })

  test('of somebody’s own that rejects or never answers: a finding, too', async () => {
    const own = memoryStore()
    const broken = (acquire: () => Promise<never>): CheckTarget => ({
      store: Object.assign(Object.create(own), { acquire, commandDeadlineMs: 100 }),
    })
    expect(codes(await found(broken(async () => expect.fail('out of order'))))).toEqual(['error UNREACHABLE'])
    expect(codes(await found(broken(() => new Promise(() => undefined))))).toEqual(['error UNREACHABLE'])
  })

  test('that answers only some of it before the time is over: what is missing is a finding', async () => {
    const own = memoryStore()
    const slow = storeWith(own, {
      release: (requests, call) => own.release(requests, call),
      checkHolders: () => new Promise(() => undefined),
      commandDeadlineMs: 60_000,
    })
    const { findings, facts } = await check({ store: slow }, { deadline: 500 })
    expect(findings.map(({ code }) => code)).toEqual(['UNFINISHED'])
    expect(facts).toMatchObject({ reached: true, script: null })
  })

  test('that is slow', async () => {
    const own = memoryStore()
    const slow = storeWith(own, {
      release: (requests, call) => own.release(requests, call),
      checkHolders: (requests, call) => elapse(50).then(() => own.checkHolders(requests, call)),
    })
    const limited = (commandDeadlineMs: number): CheckTarget => ({ store: { ...slow, commandDeadlineMs } })
    expect(codes(await found(limited(150)))).toEqual(['warning SLOW'])
    expect(codes(await found(limited(2_000)))).toEqual([])
  })

  test('what is no store, or an unknown option, is refused by name', async () => {
    expect(() => checker({} as CheckTarget)).toThrow('"target"')
    const checkUp = checker({ store: memoryStore() })
    await expect(checkUp.run({ rounds: 0 })).rejects.toMatchObject({ option: 'rounds' })
    await expect(checkUp.run({ deadline: -1 })).rejects.toMatchObject({ option: 'deadline' })
    await expect(checkUp.run({ timeout: 1 } as object)).rejects.toMatchObject({ option: 'timeout' })
  })
})
