import {
  connectRedisAdmin,
  type RedisAdmin,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '@leasehold/testkit/redis'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createLocker } from '../locker.ts'
import { redisStore } from '../redis/redis-store.ts'
import type { RedisTransport, ScriptCall, ScriptReply } from '../redis/redis-transport.ts'
import { guardedGet } from './guarded-get.ts'
import { guardedDelete, guardedSet } from './guarded-set.ts'

let server: RedisServer
let admin: RedisAdmin
let transport: RedisTransport

beforeAll(async () => {
  server = await startRedis()
  admin = await connectRedisAdmin({ port: server.port })
  transport = over(admin)
})
afterAll(async () => {
  await admin?.close()
  await server?.stop()
})
beforeEach(() => admin.command('FLUSHALL'))

/** Core does not know any client library, so its tests send scripts over the testkit's plain connection. */
function over(connection: RedisAdmin, commandDeadlineMs = 2_000): RedisTransport {
  const send = ({ command, body, keys, args }: ScriptCall): Promise<ScriptReply> =>
    connection.command(command, body, keys.length, ...keys, ...args).then(
      (value) => ({ type: 'value', value, resent: false }),
      (error: Error) => ({ type: 'error', message: error.message }),
    )
  return {
    commandDeadlineMs,
    cluster: false,
    countsSubscribers: true,
    nodeOf: () => '',
    whenReady: () => undefined,
    run: (calls) => Promise.all(calls.map(send)),
  }
}

const get = (key: string) => admin.command('GET', key)
const pttl = async (key: string): Promise<number> => Number(await admin.command('PTTL', key))

describe('a paused holder that comes after its successor', () => {
  /** A's lease expires while A is paused; B gets the next one and writes; A resumes and also writes. */
  async function story(write: (fence: number, value: string) => Promise<unknown>) {
    const locks = createLocker({ store: redisStore(transport) })
    const a = await locks.acquire('stock', { ttl: 300, renew: false })
    await using b = await locks.acquire('stock', { ttl: '5s' })
    await write(b.fence, 'from B')
    return { late: await write(a.fence, 'from A'), highest: b.fence }
  }

  test('wins over an unguarded write', async () => {
    await story((_, value) => admin.command('SET', 'stock:42', value))
    expect(await get('stock:42')).toBe('from A')
  })

  test('is refused by a guarded write, and told which fence has written', async () => {
    const { late, highest } = await story((fence, value) => guardedSet(transport, 'stock:42', value, { fence }))
    expect(late).toEqual({ stored: false, highest })
    expect(await get('stock:42')).toBe('from B')
  })

  test('cannot delete what its successor wrote', async () => {
    const { late, highest } = await story((fence, value) =>
      value === 'from B'
        ? guardedSet(transport, 'stock:42', value, { fence })
        : guardedDelete(transport, 'stock:42', { fence }),
    )
    expect(late).toEqual({ deleted: false, highest })
    expect(await get('stock:42')).toBe('from B')
  })
})

describe('a guard in Redis', () => {
  test('accepts an equal fence and a higher one, and refuses a lower one', async () => {
    for (const fence of [5, 5, 6]) {
      expect(await guardedSet(transport, 'k', `by ${fence}`, { fence })).toEqual({ stored: true })
      expect(await get('k')).toBe(`by ${fence}`)
    }
    expect(await guardedSet(transport, 'k', 'by 5', { fence: 5 })).toEqual({ stored: false, highest: 6 })
    expect(await get('k')).toBe('by 6')
  })

  test('compares fences as numbers, to the last digit of 2^53', async () => {
    const largest = Number.MAX_SAFE_INTEGER
    for (const [lower, higher] of [
      [9, 10],
      [999_999_999_999_999, 1e15],
      [largest - 1, largest],
    ] as const) {
      await guardedSet(transport, `k${higher}`, 'x', { fence: higher })
      expect(await guardedSet(transport, `k${higher}`, 'y', { fence: lower })).toEqual({
        stored: false,
        highest: higher,
      })
    }
  })

  test('keeps any text as it is', async () => {
    const value = ' 1\r\n"é\u0000🔒'
    await guardedSet(transport, 'k', value, { fence: 1 })
    expect(await get('k')).toBe(value)
  })

  test('keeps its record in the slot of the data, whatever the key', async () => {
    await using cluster = await startRedisCluster({ nodes: 1 })
    await using connection = await connectRedisAdmin({ port: cluster.nodes[0]?.port as number })
    for (const key of ['stock:42', 'stock:{42}', '{42}', '{42}:stock', 'odd{key', 'x}{42}y']) {
      const outcome = await guardedSet({ ...over(connection), cluster: true }, key, 'x', { fence: 1 })
      expect(outcome, key).toEqual({ stored: true })
    }
    expect(await connection.command('EXISTS', '{stock:42}:guard')).toBe(1)
  })

  test('refuses a key of another kind, and a record that is none, and changes neither', async () => {
    await admin.command('HSET', 'hash', 'a', '1')
    await admin.command('RPUSH', '{list}:guard', 'a')
    await admin.command('SET', '{text}:guard', 'somebody else')
    for (const key of ['hash', 'list', 'text']) {
      await expect(guardedSet(transport, key, 'x', { fence: 1 })).rejects.toMatchObject({ code: 'KIND_MISMATCH' })
      await expect(guardedDelete(transport, key, { fence: 1 })).rejects.toMatchObject({ code: 'KIND_MISMATCH' })
      await expect(guardedGet(transport, key, { fence: 1 })).rejects.toMatchObject({ code: 'KIND_MISMATCH' })
    }
    expect(await admin.command('HGETALL', 'hash')).toEqual(['a', '1'])
    expect(await admin.command('DBSIZE')).toBe(3)
  })
})

describe('a guarded read', () => {
  test('refuses every lower fence from then on, so that nothing is written behind its reader', async () => {
    await guardedSet(transport, 'k', 'from A', { fence: 1 })
    expect(await guardedGet(transport, 'k', { fence: 2 })).toEqual({ read: true, value: 'from A' })
    expect(await guardedSet(transport, 'k', 'late', { fence: 1 })).toEqual({ stored: false, highest: 2 })
    expect(await guardedGet(transport, 'k', { fence: 1 })).toEqual({ read: false, highest: 2 })
    expect(await guardedGet(transport, 'k', { fence: 2 })).toEqual({ read: true, value: 'from A' })
    expect(await guardedSet(transport, 'k', 'from B', { fence: 2 })).toEqual({ stored: true })
    expect(await get('k')).toBe('from B')
  })

  test('does not take what its own writer wrote before for overtaken', async () => {
    await guardedSet(transport, 'k', 'first', { fence: 1 })
    const record = await get('{k}:guard')
    await guardedGet(transport, 'k', { fence: 1 })
    expect(await get('{k}:guard')).toBe(record)
  })

  test('tells no data from an empty text, and keeps any other as it is', async () => {
    expect(await guardedGet(transport, 'none', { fence: 1 })).toEqual({ read: true, value: null })
    for (const value of ['', '007', '=', ' 1\r\n"é\u0000🔒']) {
      await guardedSet(transport, 'k', value, { fence: 1 })
      expect(await guardedGet(transport, 'k', { fence: 1 })).toEqual({ read: true, value })
    }
  })

  test('is remembered for as long as the data lives, and ten minutes at least', async () => {
    await guardedSet(transport, 'k', 'x', { fence: 1 })
    await guardedSet(transport, 'long', 'x', { fence: 1, ttl: '1h' })
    for (const key of ['none', 'k', 'long']) await guardedGet(transport, key, { fence: 2 })
    expect(await pttl('{k}:guard')).toBe(-1)
    expect(Math.abs((await pttl('{none}:guard')) - 600_000)).toBeLessThan(5_000)
    expect(Math.abs((await pttl('{long}:guard')) - (await pttl('long')))).toBeLessThan(5_000)
  })
})

describe('the record of a guard', () => {
  const tenMinutes = 600_000

  test('is kept for ever beside data that is', async () => {
    await guardedSet(transport, 'k', 'x', { fence: 1, ttl: '1s' })
    await guardedSet(transport, 'k', 'x', { fence: 1 })
    expect([await pttl('k'), await pttl('{k}:guard')]).toEqual([-1, -1])
  })

  test('lives as long as data that expires, and ten minutes at least', async () => {
    await guardedSet(transport, 'short', 'x', { fence: 1, ttl: '1s' })
    expect(await pttl('short')).toBeLessThanOrEqual(1_000)
    expect(Math.abs((await pttl('{short}:guard')) - tenMinutes)).toBeLessThan(5_000)
    await guardedSet(transport, 'long', 'x', { fence: 1, ttl: '1h' })
    const dataMs = await pttl('long')
    expect(Math.abs((await pttl('{long}:guard')) - dataMs)).toBeLessThan(5_000)
  })

  test('outlives a delete by ten minutes, so that a late holder cannot bring the data back', async () => {
    await guardedSet(transport, 'k', 'x', { fence: 2 })
    expect(await guardedDelete(transport, 'k', { fence: 2 })).toEqual({ deleted: true })
    expect(await get('k')).toBeNull()
    expect(Math.abs((await pttl('{k}:guard')) - tenMinutes)).toBeLessThan(5_000)
    expect(await guardedSet(transport, 'k', 'x', { fence: 1 })).toEqual({ stored: false, highest: 2 })
  })

  test('refuses a late holder after the data has expired, until its own memory ends', async () => {
    const gone = (key: string) => vi.waitFor(async () => expect(await admin.command('EXISTS', key)).toBe(0))
    await guardedSet(transport, 'k', 'x', { fence: 2, ttl: 30 })
    await gone('k')
    expect(await guardedSet(transport, 'k', 'x', { fence: 1 })).toEqual({ stored: false, highest: 2 })
    // The documented limit: a holder that comes later than fenceMemory is let through.
    await guardedSet(transport, 'k', 'x', { fence: 2, ttl: 30, fenceMemory: 30 })
    await gone('{k}:guard')
    expect(await guardedSet(transport, 'k', 'x', { fence: 1 })).toEqual({ stored: true })
  })
})

describe('what is refused before anything is sent', () => {
  const silent: RedisTransport = {
    commandDeadlineMs: 2_000,
    cluster: false,
    countsSubscribers: true,
    nodeOf: () => '',
    whenReady: () => undefined,
    run: () => Promise.reject(new Error('sent')),
  }

  test.each([null, undefined, 0, -1, 1.5, Number.NaN, Infinity, 2 ** 53, '5'])('the fence %s', async (fence) => {
    const refusal = { code: 'INVALID_OPTION', option: 'fence' }
    await expect(guardedSet(silent, 'k', 'x', { fence: fence as number })).rejects.toMatchObject(refusal)
    await expect(guardedDelete(silent, 'k', { fence: fence as number })).rejects.toMatchObject(refusal)
    await expect(guardedGet(silent, 'k', { fence: fence as number })).rejects.toMatchObject(refusal)
  })

  test.each([
    ['key', '', 'x', {}],
    ['key', 'a}b', 'x', {}],
    ['key', '\ud800', 'x', {}],
    ['value', 'k', 7 as unknown as string, {}],
    ['ttl', 'k', 'x', { ttl: 0 }],
    ['fenceMemory', 'k', 'x', { fenceMemory: Number.NaN }],
  ])('a bad %s', async (option, key, value, options) => {
    await expect(guardedSet(silent, key, value, { fence: 1, ...options })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      option,
    })
  })
})
