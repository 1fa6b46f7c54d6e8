import type { LeaseStore } from '@leasehold/core/adapter'
import { type RedisTransport, redisStore } from '@leasehold/core/redis'
import { ioredisTransport } from '@leasehold/ioredis'
import { callUntil } from '@leasehold/testkit'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { acquire as acquireScript } from '../../packages/core/src/redis/scripts/generated/acquire.ts'
import { release as releaseScript } from '../../packages/core/src/redis/scripts/generated/release.ts'
import { renew as renewScript } from '../../packages/core/src/redis/scripts/generated/renew.ts'
import { type RedisArena, redisArena } from '../support/arena.ts'
import { quiet } from '../support/quiet.ts'
import { elapse } from '../support/scale.ts'
import { readScript } from '../support/scripts.ts'

/*
 * Script rules that were found by experiment. Each story is run twice: with the rule, where it ends well, and with the
 * rule removed from the script, where it must not.
 */

let arena: RedisArena
let client: Redis
let transport: RedisTransport
/** What happens between the server's next answer and the reaction to it. */
let afterNextAnswer: (() => Promise<void>) | undefined
const signal = new AbortController().signal

beforeAll(async () => {
  arena = await redisArena()
  client = connect(arena)
  const way = ioredisTransport(client)
  transport = {
    ...way,
    async run(calls, abort) {
      const replies = await way.run(calls, abort)
      if (replies[0]?.type !== 'value') return replies
      const happens = afterNextAnswer
      afterNextAnswer = undefined
      await happens?.()
      return replies
    },
  }
  stories = 0
})
afterAll(async () => {
  client.disconnect()
  await arena[Symbol.asyncDispose]()
})

function connect({ server }: RedisArena, user: { username?: string; password?: string } = {}): Redis {
  const connection = quiet(new Redis({ host: server.host, port: server.port, ...user }))
  return connection
}

let stories: number
const freshKey = (): string => `story-${stories++}`

const scripts = { acquire: acquireScript, release: releaseScript, renew: renewScript }

/** A store with a passage of one of its scripts replaced. */
function storeWithout(script: keyof typeof scripts, passage: string, replacement: string): LeaseStore {
  const source = readScript(script)
  expect(source).toContain(passage)
  const { sha1, text } = scripts[script]
  const changed = { command: 'EVAL', body: source.replace(passage, replacement) } as const
  return redisStore(
    {
      ...transport,
      run: (calls, abort) =>
        transport.run(
          calls.map((call) => (call.body === sha1 || call.body === text ? { ...call, ...changed } : call)),
          abort,
        ),
    },
    { prefix: arena.prefix },
  )
}

const withTheRule = (): LeaseStore => redisStore(transport, { prefix: arena.prefix })

const acquisitionId = (digit: string): string => digit.repeat(32)

async function acquire(store: LeaseStore, key: string, by: string, ttlMs: number): Promise<string> {
  const [outcome] = await store.acquire(
    [{ key, acquisitionId: acquisitionId(by), ttlMs, fences: 1 }],
    callUntil(signal),
  )
  return outcome?.type ?? 'nothing'
}

async function release(store: LeaseStore, key: string, by: string): Promise<string> {
  const [outcome] = await store.release([{ key, acquisitionId: acquisitionId(by) }], callUntil(signal))
  return outcome?.type ?? 'nothing'
}

/** The second release finds the effect of the first, and of whatever happens in between. */
async function isReleasedTwice(store: LeaseStore, meanwhile?: (key: string) => Promise<unknown>): Promise<boolean> {
  const key = freshKey()
  await acquire(store, key, 'a', 5_000)
  await release(store, key, 'a') // executed, and its reply lost
  await meanwhile?.(key)
  return (await release(store, key, 'a')) === 'released'
}

interface Rule {
  readonly rule: string
  readonly script: keyof typeof scripts
  readonly passage: string
  readonly replacement: string
  /** Runs the story and returns whether it ended well. */
  readonly endsWell: (store: LeaseStore) => Promise<boolean>
}

const rules: readonly Rule[] = [
  {
    rule: 'a repeated acquire re-arms the expiry, or another is granted while the first still trusts its lease',
    script: 'acquire',
    passage: 'if tonumber(ttl) > pttl then',
    replacement: 'if false then',
    async endsWell(store) {
      const key = freshKey()
      const ttl = 1_200
      await acquire(store, key, 'a', ttl) // executed, and its reply lost
      await elapse(750)
      const repeatedAt = performance.now()
      expect(await acquire(store, key, 'a', ttl)).toBe('granted')
      await elapse(600)
      const other = await acquire(store, key, 'b', ttl)
      const trustsUntil = repeatedAt + ttl * 0.99 - 2
      return performance.now() > trustsUntil || other === 'held'
    },
  },
  {
    rule: 'a repeated acquire never re-arms to less than what is left',
    script: 'acquire',
    passage: 'if tonumber(ttl) > pttl then',
    replacement: 'if true then',
    async endsWell(store) {
      const key = freshKey()
      await acquire(store, key, 'a', 60_000)
      await acquire(store, key, 'a', 5_000)
      return Number(await arena.command('PTTL', arena.prefix + key)) > 50_000
    },
  },
  {
    rule: 'a late duplicate of a shorter renewal does not cut a longer one',
    script: 'renew',
    passage: "if ms > call('PTTL', lock) then",
    replacement: 'if true then',
    async endsWell(store) {
      const key = freshKey()
      const [granted] = await store.acquire(
        [{ key, acquisitionId: acquisitionId('a'), ttlMs: 5_000, fences: 1 }],
        callUntil(signal),
      )
      const token = granted?.type === 'granted' ? granted.token : ''
      await store.renew([{ key, token, ttlMs: 60_000 }], callUntil(signal))
      await store.renew([{ key, token, ttlMs: 5_000 }], callUntil(signal))
      return Number(await arena.command('PTTL', arena.prefix + key)) > 50_000
    },
  },
  {
    rule: 'a late duplicate of an acquire whose lease came and went is spent, and takes the lock for nobody',
    script: 'acquire',
    passage: 'last and sub(last, 1, 32) == random',
    replacement: 'false',
    async endsWell(store) {
      const key = freshKey()
      await acquire(store, key, 'a', 5_000)
      await store.release([{ key, acquisitionId: acquisitionId('a') }], callUntil(signal))
      return (
        (await acquire(store, key, 'a', 5_000)) === 'spent' && (await acquire(store, key, 'b', 5_000)) === 'granted'
      )
    },
  },
  {
    rule: 'a compensating release knows only the random part, and the value is compared up to its last dot',
    script: 'release',
    passage: 'and token ~= id',
    replacement: '',
    async endsWell(store) {
      const key = freshKey()
      await acquire(store, key, 'a', 5_000)
      const [outcome] = await store.release([{ key, acquisitionId: acquisitionId('a') }], callUntil(signal))
      return outcome?.type === 'released'
    },
  },
  {
    rule: 'a release marks how its lease ended, for its repeat, which meets its own effect',
    script: 'release',
    passage: 'random == sub(id, -32)',
    replacement: 'false',
    async endsWell(store) {
      return isReleasedTwice(store)
    },
  },
  {
    rule: 'the next grant carries the mark over, for a repeat that comes with another holder in between',
    script: 'acquire',
    passage: "(ending or '')",
    replacement: "''",
    async endsWell(store) {
      return isReleasedTwice(store, (key) => acquire(store, key, 'b', 5_000))
    },
  },
  {
    rule: 'the end of a foreign holder is not marked as the end of the lease before it',
    script: 'release',
    passage: 'id and random == sub(id, -32)',
    replacement: 'true',
    async endsWell(store) {
      return isReleasedTwice(store, async (key) => {
        await arena.command('SET', arena.prefix + key, 'theirs.1', 'PX', 5_000)
        expect(await store.revoke(key, callUntil(signal))).toEqual({ type: 'revoked' })
      })
    },
  },
  {
    rule: 'a revocation of what is no lock takes nothing that came after it was checked at',
    script: 'release',
    passage: 'or token ~= holder',
    replacement: "or string.find(token, 'WRONGTYPE', 1, true) == nil and token ~= holder",
    async endsWell(store) {
      const key = freshKey()
      await arena.command('LPUSH', arena.prefix + key, 'x')
      afterNextAnswer = async () => {
        await arena.command('DEL', arena.prefix + key)
        await acquire(store, key, 'a', 5_000)
      }
      const { type } = await store.revoke(key, callUntil(signal))
      return type === 'free' && Number(await arena.command('EXISTS', arena.prefix + key)) === 1
    },
  },
  {
    rule: 'fences are text: a large number that is concatenated turns into scientific notation',
    script: 'acquire',
    passage: "reply = id .. '.' .. fence",
    replacement: "reply = id .. '.' .. tonumber(fence)",
    async endsWell(store) {
      const key = freshKey()
      const [outcome] = await store.acquire(
        [{ key, acquisitionId: acquisitionId('a'), ttlMs: 5_000, fences: 1 }],
        callUntil(signal),
      )
      return outcome?.type === 'granted' && Number(outcome.fence) > 1e15
    },
  },
  {
    rule: 'fences go on from the record, not from the clock alone',
    script: 'acquire',
    passage: 'lastFence and (#lastFence ~= #micros or lastFence >= micros)',
    replacement: 'false',
    async endsWell(store) {
      const key = freshKey()
      const last = 8_000_000_000_000_000
      await arena.command('SET', `{${arena.prefix}${key}}:fence`, `${acquisitionId('0')}.${last}`)
      const [outcome] = await store.acquire(
        [{ key, acquisitionId: acquisitionId('a'), ttlMs: 5_000, fences: 1 }],
        callUntil(signal),
      )
      return outcome?.type === 'granted' && Number(outcome.fence) > last
    },
  },
  {
    rule: 'one key of another type does not fail the renewals that share its command',
    script: 'renew',
    passage: "redis.pcall('GET', lock)",
    replacement: "redis.call('GET', lock)",
    async endsWell(store) {
      const [bad, good] = [freshKey(), freshKey()]
      await arena.command('LPUSH', arena.prefix + bad, 'x')
      const [granted] = await store.acquire(
        [{ key: good, acquisitionId: acquisitionId('a'), ttlMs: 5_000, fences: 1 }],
        callUntil(signal),
      )
      const token = granted?.type === 'granted' ? granted.token : ''
      const requests = [bad, good].map((key) => ({ key, token, ttlMs: 5_000 }))
      const outcomes = await store.renew(requests, callUntil(signal))
      return outcomes[0]?.type === 'superseded' && outcomes[1]?.type === 'renewed'
    },
  },
]

describe.each(rules)('$rule', ({ script, passage, replacement, endsWell }) => {
  it('holds', async () => {
    expect(await endsWell(withTheRule())).toBe(true)
  })
  it('is needed: without it the story ends badly', async () => {
    expect(await endsWell(storeWithout(script, passage, replacement))).toBe(false)
  })
})

describe('in a call of several, a key of another type', () => {
  const keysOf = (requests: readonly { readonly key: string }[]): readonly string[] => requests.map(({ key }) => key)
  const requestsFor = (count: number) =>
    Array.from({ length: count }, () => ({
      key: freshKey(),
      acquisitionId: acquisitionId('a'),
      ttlMs: 5_000,
      fences: 17,
    }))
  const mismatch = { type: 'refused', error: { code: 'KIND_MISMATCH' } }

  it('is never overwritten, whether it is where the lock goes or its record', async () => {
    const requests = requestsFor(3)
    const [lock, , record] = keysOf(requests).map((key) => arena.prefix + key) as [string, string, string]
    await arena.command('LPUSH', lock, 'x')
    await arena.command('LPUSH', `{${record}}:fence`, 'x')
    const outcomes = await withTheRule().acquire(requests, callUntil(signal))
    expect(outcomes).toMatchObject([mismatch, { type: 'granted' }, mismatch])
    expect(await arena.command('LLEN', lock)).toBe(1)
    expect(await arena.command('LLEN', `{${record}}:fence`)).toBe(1)
    expect(await arena.command('EXISTS', record)).toBe(0)
  })

  it('is not freed, and a lock whose record it is has an end', async () => {
    const requests = requestsFor(3)
    const [lock, , record] = keysOf(requests).map((key) => arena.prefix + key) as [string, string, string]
    await withTheRule().acquire(requests, callUntil(signal))
    for (const key of [lock, `{${record}}:fence`]) {
      await arena.command('DEL', key)
      await arena.command('LPUSH', key, 'x')
    }
    const outcomes = await withTheRule().release(requests, callUntil(signal))
    expect(outcomes.map(({ type }) => type)).toEqual(['superseded', 'released', 'released'])
    expect(await arena.command('LLEN', lock)).toBe(1)
    expect(await arena.command('LLEN', `{${record}}:fence`)).toBe(1)
    expect(await arena.command('EXISTS', record)).toBe(0)
  })
})

it('text that is not a fence record keeps no lock from being acquired and released', async () => {
  const random = 'f'.repeat(32)
  const texts = [
    '',
    'x',
    '9',
    random,
    `${random}.`,
    `${random}.x`,
    `${random}x1`,
    'z'.repeat(100),
    `${'.'.repeat(40)}7`,
  ]
  const requests = texts.map(() => ({ key: freshKey(), acquisitionId: acquisitionId('a'), ttlMs: 5_000, fences: 1 }))
  // Alone, and several in one call.
  for (const calls of [requests.map((request) => [request]), [requests]]) {
    for (const call of calls) {
      for (const [at, { key }] of requests.entries()) {
        await arena.command('SET', `{${arena.prefix}${key}}:fence`, texts[at] as string)
      }
      const granted = await withTheRule().acquire(call, callUntil(signal))
      expect(granted.map(({ type }) => type)).toEqual(call.map(() => 'granted'))
      const tokens = granted.flatMap((outcome) => (outcome.type === 'granted' ? [outcome.token] : []))
      for (const [at, { key }] of requests.entries()) {
        await arena.command('SET', `{${arena.prefix}${key}}:fence`, texts[at] as string)
      }
      const held = call.map(({ key }, at) => ({ key, token: tokens[at] as string }))
      const released = await withTheRule().release(held, callUntil(signal))
      expect(released.map(({ type }) => type)).toEqual(call.map(() => 'released'))
    }
  }
})

it('a call of more requests than a script reads at once is answered whole', async () => {
  const requests = Array.from({ length: 5_000 }, () => ({
    key: freshKey(),
    acquisitionId: acquisitionId('a'),
    ttlMs: 60_000,
    fences: 1,
  }))
  const types = async (outcomes: Promise<readonly { readonly type: string }[]>): Promise<ReadonlySet<string>> =>
    new Set((await outcomes).map(({ type }) => type))
  expect(await types(withTheRule().acquire(requests, callUntil(signal)))).toEqual(new Set(['granted']))
  expect(await types(withTheRule().release(requests, callUntil(signal)))).toEqual(new Set(['released']))
})

describe('a release that cannot be announced is a release', () => {
  const endsWell = async (store: (transport: RedisTransport) => LeaseStore): Promise<readonly string[]> => {
    // What Redis 7 gives a new user: no channels at all.
    await arena.command('ACL', 'SETUSER', 'quiet', 'on', '>secret', '~*', '+@all', 'resetchannels')
    const quiet = connect(arena, { username: 'quiet', password: 'secret' })
    const heard: string[] = []
    const locks = arena.client({ store: store(ioredisTransport(quiet)), onEvent: ({ type }) => heard.push(type) })
    const outcomes: string[] = []
    for (let round = 0; round < 2; round++) {
      const lease = await locks.acquire(freshKey())
      outcomes.push(await lease.release())
    }
    await locks.close()
    quiet.disconnect()
    return [...outcomes, ...heard.filter((type) => type === 'unannounced')]
  }

  it('holds, and is told once', async () => {
    expect(await endsWell((over) => redisStore(over, { prefix: arena.prefix }))).toEqual([
      'released',
      'released',
      'unannounced',
    ])
  })

  it('is needed: an unguarded PUBLISH makes the release an error', async () => {
    const text = readScript('release').replace("pcall('PUBLISH'", "redis.call('PUBLISH'")
    const unguarded = (over: RedisTransport): LeaseStore =>
      redisStore(
        {
          ...over,
          run: (calls, abort) =>
            over.run(
              calls.map((call) => (call.args[0] === 'released' ? { ...call, command: 'EVAL', body: text } : call)),
              abort,
            ),
        },
        { prefix: arena.prefix },
      )
    expect(await endsWell(unguarded)).toEqual(['unknown', 'unknown'])
  })
})

describe('on a full server', () => {
  const fill = async (full: RedisArena): Promise<void> => {
    await full.command('CONFIG', 'SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction')
  }

  it('renew and release work, and a new acquire says that the store did not take it', async () => {
    await using full = await redisArena()
    const locks = full.client()
    const lease = await locks.acquire('full')
    await fill(full)
    await lease.renew({ ttl: '30s' })
    expect(await full.command('PTTL', `${full.prefix}full`)).toBeGreaterThan(20_000)
    const error = await locks.acquire('other', { wait: 300 }).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'no' })
    expect(String((error as Error).cause)).toContain('OOM')
    expect(await lease.release()).toBe('released')
    expect(await full.command('EXISTS', `${full.prefix}full`)).toBe(0)
  })

  it('a release is marked too: its repeat is told the truth, also with another holder in between', async () => {
    await using full = await redisArena()
    const store = full.store()
    await acquire(store, 'full', 'a', 60_000)
    await fill(full)
    const marked = `${acquisitionId('a')}\\.\\d+\\.${acquisitionId('a')}\\.released`
    for (let i = 0; i < 2; i++) expect(await release(store, 'full', 'a')).toBe('released')
    const record = `{${full.prefix}full}:fence`
    expect(await full.command('GET', record)).toMatch(new RegExp(`^${marked}$`))
    expect(await full.command('PTTL', record)).toBeGreaterThan(0)
    await full.command('CONFIG', 'SET', 'maxmemory', '0')
    expect(await acquire(store, 'full', 'b', 60_000)).toBe('granted')
    expect(await release(store, 'full', 'a')).toBe('released')
  })

  it('is needed: a release that first writes something down keeps the lock held', async () => {
    await using full = await redisArena()
    const connection = connect(full)
    const text = readScript('release').replace(
      'local reply\n',
      "local reply redis.call('SET', lock .. ':last', token, 'PX', 1000)\n",
    )
    const over = ioredisTransport(connection)
    const locks = full.client({
      store: redisStore(
        {
          ...over,
          run: (calls, abort) =>
            over.run(
              calls.map((call) => (call.args[0] === 'released' ? { ...call, command: 'EVAL', body: text } : call)),
              abort,
            ),
        },
        { prefix: full.prefix },
      ),
    })
    const lease = await locks.acquire('full', { ttl: '1s', renew: false })
    await fill(full)
    expect(await lease.release()).toBe('unknown')
    connection.disconnect()
  })
})
