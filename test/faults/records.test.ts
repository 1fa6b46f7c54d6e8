import type { LeaseStore } from '@leasehold/core/adapter'
import { type ClaimRequest, type RecordStore, recordsOf } from '@leasehold/core/records'
import { ioredisStore } from '@leasehold/ioredis'
import { callUntil } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LossyWay, lossyWays, plainClient, unanswered } from '../support/lossy-ways.ts'

/*
 * Records when replies are lost, when requests arrive twice, and when the server is out of memory. Each request is
 * repeated unchanged, and gets a truthful answer.
 */

interface Way extends LossyWay {
  readonly records: RecordStore
}

let redis: RedisServer
/** Connected to the server itself. */
let direct: RecordStore
let ways: readonly Way[]
const clients: Redis[] = []

beforeAll(async () => {
  redis = await startRedis()
  direct = recordsIn(ioredisStore(client(redis.port)))
  ways = (await lossyWays(redis)).map((way) => ({ ...way, records: recordsIn(way.store) }))
  // The server knows every script, so that a request is one command.
  for (const { name, records } of ways) {
    const token = await begin(records, `${name}-warm`)
    await records.read('warm', call())
    await records.complete(run(`${name}-warm`, token), call())
    await records.abandon({ key: 'warm', token }, call())
  }
})
afterAll(async () => {
  for (const way of ways) await way[Symbol.asyncDispose]()
  for (const each of clients) each.disconnect()
  await redis.stop()
})

function recordsIn(store: LeaseStore): RecordStore {
  const records = recordsOf(store)
  if (!records) throw new Error('The store has no records')
  return records
}

/** A client connected to a server itself. */
function client(port: number): Redis {
  const made = plainClient(port)
  clients.push(made)
  return made
}

const call = () => callUntil(new AbortController().signal)
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const hour = 3_600_000
let drawn = 0

const asked = (key: string, request: Partial<ClaimRequest> = {}): ClaimRequest => ({
  key,
  acquisitionId: (++drawn).toString(16).padStart(32, '0'),
  ttlMs: 60_000,
  fingerprint: 'same',
  keepMs: hour,
  rerun: false,
  ...request,
})
const run = (key: string, token: string) => ({ key, token, fingerprint: 'same', result: bytes(key), keepMs: hour })

async function begin(records: RecordStore, key: string, request: Partial<ClaimRequest> = {}): Promise<string> {
  const outcome = await records.claim(asked(key, request), call())
  expect(outcome).toMatchObject({ type: 'claimed' })
  return (outcome as { token: string }).token
}

describe.each([
  ['TCP', 0],
  ['HTTP', 1],
])('over %s', (_, at) => {
  const way = (): Way => ways[at] as Way
  const key = (what: string): string => `${way().name}-${what}`

  it('a claim whose reply was lost finds itself when it is repeated, and nobody else runs', async () => {
    const request = asked(key('claim'))
    await unanswered(way(), (given) => way().records.claim(request, given))
    expect(await direct.claim(asked(key('claim')), call())).toMatchObject({ type: 'busy' })
    const again = await way().records.claim(request, call())
    expect(again).toMatchObject({ type: 'claimed', overtook: undefined })
  })

  it('a claim whose reply was lost, and that is given up, is undone by its acquisition id', async () => {
    const request = asked(key('undone'))
    await unanswered(way(), (given) => way().records.claim(request, given))
    const { acquisitionId } = request
    expect(await way().records.abandon({ key: request.key, acquisitionId }, call())).toMatchObject({
      type: 'abandoned',
    })
    await begin(direct, request.key)
  })

  it('a completion whose reply was lost is told that it was carried out', async () => {
    const name = key('complete')
    const token = await begin(way().records, name)
    await unanswered(way(), (given) => way().records.complete(run(name, token), given))
    expect(await direct.claim(asked(name), call())).toMatchObject({ type: 'done', record: { result: bytes(name) } })
    expect(await way().records.complete(run(name, token), call())).toMatchObject({ type: 'completed' })
  })

  it('an abandonment whose reply was lost is told that it was carried out, with another run in between', async () => {
    const name = key('abandon')
    const token = await begin(way().records, name)
    await unanswered(way(), (given) => way().records.abandon({ key: name, token }, given))
    const second = await begin(direct, name)
    expect(await way().records.abandon({ key: name, token }, call())).toMatchObject({ type: 'abandoned' })
    expect(await direct.complete(run(name, second), call())).toMatchObject({ type: 'completed' })
  })

  it('requests that arrive twice do what they do once', async () => {
    const name = key('twice')
    const sent = [way().twice()]
    const first = await begin(way().records, name)
    sent.push(way().twice())
    expect(await way().records.abandon({ key: name, token: first }, call())).toMatchObject({ type: 'abandoned' })
    const token = await begin(way().records, name)
    sent.push(way().twice())
    expect(await way().records.complete(run(name, token), call())).toMatchObject({ type: 'completed' })
    await Promise.all(sent)
    expect(await direct.read(name, call())).toMatchObject({ record: { result: bytes(name) }, lock: null })
  })

  it('a run whose record was evicted completes while it has the lock, and nobody ran in between', async () => {
    const name = key('evicted')
    const request = asked(name)
    const { token } = (await way().records.claim(request, call())) as { token: string }
    await redis.command('DEL', `{lock:${name}}:record`)
    expect(await direct.claim(asked(name), call())).toMatchObject({ type: 'busy' })
    expect(await way().records.claim(request, call())).toMatchObject({ type: 'claimed', token })
    await redis.command('DEL', `{lock:${name}}:record`)
    expect(await way().records.complete(run(name, token), call())).toMatchObject({ type: 'completed' })
    expect(await direct.claim(asked(name), call())).toMatchObject({ type: 'done' })
  })

  it('something else in the place of a record or a lock is told by name, and left alone', async () => {
    const [record, list, lock] = [key('text'), key('list'), key('lock')]
    await redis.command('SET', `{lock:${record}}:record`, 'something else')
    await redis.command('RPUSH', `{lock:${list}}:record`, 'a')
    await redis.command('RPUSH', `lock:${lock}`, 'a')
    const mismatch = { type: 'refused', error: { code: 'KIND_MISMATCH' } }
    for (const name of [record, list, lock]) {
      expect(await way().records.claim(asked(name), call())).toMatchObject(mismatch)
      expect(await way().records.read(name, call())).toMatchObject(mismatch)
    }
    const token = `${'f'.repeat(32)}.1`
    for (const name of [record, list]) {
      expect(await way().records.complete(run(name, token), call())).toMatchObject(mismatch)
      expect(await way().records.abandon({ key: name, token }, call())).toMatchObject(mismatch)
    }
    expect(await redis.command('GET', `{lock:${record}}:record`)).toBe('something else')
  })
})

describe('on a server without memory left', () => {
  let full: RedisServer
  let records: RecordStore
  let store: LeaseStore

  beforeAll(async () => {
    full = await startRedis()
    store = ioredisStore(client(full.port))
    records = recordsIn(store)
    const token = await begin(records, 'warm')
    await records.complete(run('warm', token), call())
  })
  afterAll(() => full.stop())

  const whileFull = async (work: () => Promise<void>): Promise<void> => {
    await full.command('CONFIG', 'SET', 'maxmemory', 1)
    try {
      await work()
    } finally {
      await full.command('CONFIG', 'SET', 'maxmemory', 0)
    }
  }
  const refused = { type: 'unknown', executed: 'no', cause: { message: expect.stringContaining('OOM') } }

  it('a claim is refused as a whole, and answered where it needs no memory', async () => {
    const [busy, done, doubt] = ['busy', 'done', 'doubt']
    await begin(records, busy)
    await records.complete(run(done, await begin(records, done)), call())
    await begin(records, doubt)
    await store.revoke(doubt, call())
    await whileFull(async () => {
      expect(await records.claim(asked('free'), call())).toMatchObject(refused)
      expect(await records.claim(asked(doubt, { rerun: true }), call())).toMatchObject(refused)
      expect(await records.claim(asked(busy), call())).toMatchObject({ type: 'busy' })
      expect(await records.claim(asked(done), call())).toMatchObject({ type: 'done' })
      expect(await records.claim(asked(doubt), call())).toMatchObject({ type: 'in-doubt' })
    })
    expect(await records.read('free', call())).toEqual({ type: 'state', record: null, lock: null })
    expect(await full.command('KEYS', '*free*')).toEqual([])
  })

  it('a result is refused, and its run keeps the lock; it can complete later', async () => {
    const token = await begin(records, 'later')
    await whileFull(async () => {
      expect(await records.complete(run('later', token), call())).toMatchObject(refused)
      expect(await records.read('later', call())).toMatchObject({ record: { state: 'running' }, lock: {} })
      expect(await store.renew([{ key: 'later', token, ttlMs: 90_000 }], call())).toEqual([{ type: 'renewed' }])
    })
    expect(await records.complete(run('later', token), call())).toMatchObject({ type: 'completed' })
  })

  it('a completion without result is accepted, with the lock or without', async () => {
    const held = await begin(records, 'tombstone')
    const lapsed = await begin(records, 'lapsed')
    await store.revoke('lapsed', call())
    await whileFull(async () => {
      for (const [key, token] of [
        ['tombstone', held],
        ['lapsed', lapsed],
      ] as const) {
        expect(await records.complete({ ...run(key, token), result: null }, call())).toMatchObject({
          type: 'completed',
        })
        expect(await records.read(key, call())).toMatchObject({ record: { state: 'too-large' }, lock: null })
      }
    })
  })

  it('an abandonment is accepted, and its repeat is told so', async () => {
    const token = await begin(records, 'given-up')
    await whileFull(async () => {
      for (let i = 0; i < 2; i++) {
        expect(await records.abandon({ key: 'given-up', token }, call())).toMatchObject({ type: 'abandoned' })
      }
      expect(await records.read('given-up', call())).toEqual({ type: 'state', record: null, lock: null })
    })
  })

  it('so is that of a run which replaced one in doubt, and the key is in doubt again', async () => {
    await begin(records, 'rerun')
    await store.revoke('rerun', call())
    const token = await begin(records, 'rerun', { rerun: true })
    await store.revoke('rerun', call())
    await whileFull(async () => {
      for (let i = 0; i < 2; i++) {
        expect(await records.abandon({ key: 'rerun', token }, call())).toMatchObject({ type: 'abandoned' })
      }
      expect(await records.claim(asked('rerun'), call())).toMatchObject({ type: 'in-doubt' })
    })
  })
})

it('every entry expires, whatever came between', async () => {
  const names = (await redis.command('KEYS', '*')) as string[]
  expect(names.length).toBeGreaterThan(10)
  const foreign = /(text|list|lock)}?:record$|lock:(tcp|http)-lock$/
  for (const name of names.filter((each) => !foreign.test(each))) {
    expect(Number(await redis.command('PTTL', name)), name).not.toBe(-1)
  }
})
