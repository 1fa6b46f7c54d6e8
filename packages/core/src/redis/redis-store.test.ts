import { callUntil } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import { drawAcquisitionId } from '../store/token.ts'
import { redisStore } from './redis-store.ts'
import type { RedisTransport, ScriptCall, ScriptReply } from './redis-transport.ts'
import { acquire } from './scripts/generated/acquire.ts'
import { release } from './scripts/generated/release.ts'
import { renew } from './scripts/generated/renew.ts'

// The scripts are tested on real servers. These tests show what the store makes of whatever a client hands it.

const { signal } = new AbortController()
const acquisitionId = drawAcquisitionId()
const token = `${acquisitionId}.7`
const unknown = { type: 'unknown', executed: 'unknown' }

/** A store over a client that answers each round trip with the next of these replies. */
function storeOver(rounds: readonly (readonly ScriptReply[])[], cluster = false) {
  const sent: (readonly ScriptCall[])[] = []
  const transport: RedisTransport = {
    commandDeadlineMs: 2_000,
    cluster,
    countsSubscribers: !cluster,
    nodeOf: () => '',
    whenReady: () => undefined,
    async run(calls) {
      sent.push(calls)
      return rounds[sent.length - 1] ?? []
    },
  }
  return { store: redisStore(transport), sent }
}

const value = (reply: unknown, resent = false): ScriptReply => ({ type: 'value', value: reply, resent })
const error = (message: string): ScriptReply => ({ type: 'error', message })
const asking = (key: string) => ({ key, acquisitionId, ttlMs: 10_000, fences: 1 })

describe('a call', () => {
  it('is one command, by the hash of its script, however many requests it has', async () => {
    const { store, sent } = storeOver([[value([token, ['held', 5, '3'], ['spent']])]])
    const outcomes = await store.acquire([asking('a'), asking('b'), asking('c')], callUntil(signal))
    expect(outcomes.map(({ type }) => type)).toEqual(['granted', 'held', 'spent'])
    expect(sent).toHaveLength(1)
    expect(sent[0]).toMatchObject([
      {
        command: 'EVALSHA',
        body: acquire.sha1,
        keys: ['lock:a', '{lock:a}:fence', 'lock:b', '{lock:b}:fence', 'lock:c', '{lock:c}:fence'],
      },
    ])
  })

  it('on a cluster is one command per request, sent together', async () => {
    const { store, sent } = storeOver([[value(['renewed']), value([['gone']])]], true)
    const requests = ['a', 'b'].map((key) => ({ key, token, ttlMs: 10_000 }))
    expect(await store.renew(requests, callUntil(signal))).toEqual([{ type: 'renewed' }, { type: 'gone' }])
    expect(sent).toHaveLength(1)
    expect(sent[0]?.map(({ keys }) => keys[0])).toEqual(['lock:a', 'lock:b'])
  })

  it('to a server that has forgotten the script is repeated with its text, within the same call', async () => {
    const { store, sent } = storeOver([[error('NOSCRIPT No matching script.')], [value([0])]])
    expect(await store.release([{ key: 'k', token }], callUntil(signal))).toEqual([
      { type: 'released', announced: true, subscribers: 0 },
    ])
    expect(sent.map(([call]) => [call?.command, call?.body])).toEqual([
      ['EVALSHA', release.sha1],
      ['EVAL', release.text],
    ])
  })

  it('on a cluster is repeated only where the script was forgotten, and answers stay in order', async () => {
    const rounds = [
      [value(['renewed']), error('NOSCRIPT'), value([['gone']]), error('NOSCRIPT')],
      [value([['superseded']]), value(['renewed'])],
    ]
    const { store, sent } = storeOver(rounds, true)
    const requests = ['a', 'b', 'c', 'd'].map((key) => ({ key, token, ttlMs: 10_000 }))
    const outcomes = await store.renew(requests, callUntil(signal))
    expect(outcomes.map(({ type }) => type)).toEqual(['renewed', 'superseded', 'gone', 'renewed'])
    expect(sent[1]?.map(({ body, keys }) => [body, keys[0]])).toEqual([
      [renew.text, 'lock:b'],
      [renew.text, 'lock:d'],
    ])
  })

  it('on a cluster is one command for all requests of a hash tag, and answers stay in order', async () => {
    const { store, sent } = storeOver([[value(['renewed', ['gone']]), value([['superseded']])]], true)
    const requests = ['a{1}', 'b', 'c{1}'].map((key) => ({ key, token, ttlMs: 10_000 }))
    const outcomes = await store.renew(requests, callUntil(signal))
    expect(outcomes.map(({ type }) => type)).toEqual(['renewed', 'superseded', 'gone'])
    expect(sent[0]?.map(({ keys }) => keys.filter((key) => key.startsWith('lock:')))).toEqual([
      ['lock:a{1}', 'lock:c{1}'],
      ['lock:b'],
    ])
  })

  it('to a server that turns out to have slots is repeated split, within the same call, and split from then on', async () => {
    const crossSlot = error("CROSSSLOT Keys in request don't hash to the same slot")
    const renewed = value(['renewed'])
    const { store, sent } = storeOver([[crossSlot], [renewed, value([['gone']])], [renewed, renewed]])
    const requests = ['a', 'b'].map((key) => ({ key, token, ttlMs: 10_000 }))
    expect(await store.renew(requests, callUntil(signal))).toEqual([{ type: 'renewed' }, { type: 'gone' }])
    await store.renew(requests, callUntil(signal))
    expect(sent.map((calls) => calls.map(({ keys }) => keys[0]))).toEqual([
      ['lock:a'],
      ['lock:a', 'lock:b'],
      ['lock:a', 'lock:b'],
    ])
  })

  it('is refused if keys of one request lie in several slots, and sent no more', async () => {
    const { store, sent } = storeOver([[error('CROSSSLOT')]])
    const [outcome] = await store.acquire([asking('k')], callUntil(signal))
    expect(outcome).toMatchObject({ type: 'refused', error: { cause: { message: 'CROSSSLOT' } } })
    expect(sent).toHaveLength(1)
  })

  it('of keys whose slot is being moved is repeated one by one, within the same call, and that time only', async () => {
    const tryAgain = error('TRYAGAIN Multiple keys request during rehashing of slot')
    const both = value(['renewed', 'renewed'])
    const { store, sent } = storeOver([[tryAgain], [value(['renewed']), tryAgain], [both]], true)
    const requests = ['a{1}', 'b{1}'].map((key) => ({ key, token, ttlMs: 10_000 }))
    expect(await store.renew(requests, callUntil(signal))).toMatchObject([
      { type: 'renewed' },
      { ...unknown, executed: 'no', cause: { message: expect.stringContaining('TRYAGAIN') } },
    ])
    await store.renew(requests, callUntil(signal))
    expect(sent.map((calls) => calls.length)).toEqual([1, 2, 1])
  })

  it('that was repeated one by one may be the answer to a repeat if the first was', async () => {
    const tryAgain = { ...error('TRYAGAIN'), resent: true } as const
    const gone = value([['gone']])
    const { store } = storeOver([[tryAgain], [gone, gone]], true)
    const outcomes = await store.release(
      ['a{1}', 'b{1}'].map((key) => ({ key, token })),
      callUntil(signal),
    )
    expect(outcomes).toEqual([
      { type: 'gone', resent: true },
      { type: 'gone', resent: true },
    ])
  })

  it('without any reply is unknown for each request', async () => {
    const { store } = storeOver([])
    expect(await store.acquire([asking('a'), asking('b')], callUntil(signal))).toMatchObject([unknown, unknown])
  })

  it('without an answer is as unknown as its client says, with its reason', async () => {
    const cause = new Error('offline')
    const { store } = storeOver([[{ type: 'unknown', executed: 'no', cause }]])
    expect(await store.acquire([asking('k')], callUntil(signal))).toEqual([{ type: 'unknown', executed: 'no', cause }])
  })
})

describe('a reply that is not what was asked for', () => {
  it.each([
    ...[null, 'OK', 'QUEUED', 1, true, {}, [], [null], [7], ['granted'], ['foreign'], [acquisitionId], token],
    ...[[[]], [[token]], [['granted', token]], [['held']], [['held', '5', '3']], [['ok']], [[7]]],
  ])('tells nothing about an acquire: %j', async (reply) => {
    const { store } = storeOver([[value(reply)]])
    expect(await store.acquire([asking('k')], callUntil(signal))).toMatchObject([unknown])
  })

  it.each([
    ...[null, 'OK', 1, [], [null], ['1'], ['released'], [[]], [[1]], [['released']], [['released', 1]], [['ended']]],
  ])('tells nothing about a release: %j', async (reply) => {
    const { store } = storeOver([[value(reply)]])
    expect(await store.release([{ key: 'k', token }], callUntil(signal))).toMatchObject([unknown])
  })

  it.each([null, 'OK', 'renewed', [], ['OK'], [1], [[]], [['renewed']], [['gone!']]])(
    'tells nothing about a renewal: %j',
    async (reply) => {
      const { store } = storeOver([[value(reply)]])
      expect(await store.renew([{ key: 'k', token, ttlMs: 10_000 }], callUntil(signal))).toMatchObject([unknown])
    },
  )

  it('tells nothing about the requests it has no part for', async () => {
    const { store } = storeOver([[value([token])]])
    const outcomes = await store.acquire([asking('a'), asking('b')], callUntil(signal))
    expect(outcomes).toMatchObject([{ type: 'granted' }, unknown])
  })
})

describe('a reply', () => {
  it('of a grant has its fence, as a number', async () => {
    const { store } = storeOver([[value([`${acquisitionId}.1767225600000123`])]])
    expect(await store.acquire([asking('k')], callUntil(signal))).toMatchObject([{ fence: 1_767_225_600_000_123 }])
  })

  it('of a contended try has the remaining time of the holder, or null if that has no expiry, and its name', async () => {
    for (const [pttl, expiresInMs] of [
      [1_234, 1_234],
      [0, 0],
      [-1, null],
    ] as const) {
      const { store } = storeOver([[value([['held', pttl, '-', 'jobs-1']])]])
      expect(await store.acquire([asking('k')], callUntil(signal))).toEqual([
        { type: 'held', expiresInMs, cursor: '-', holder: 'jobs-1' },
      ])
    }
  })

  it('of a refusal has a cursor of text, whatever the client made of it', async () => {
    const { store } = storeOver([[value([['held', 5, 1_767_225_600_000_123]])]])
    expect(await store.acquire([asking('k')], callUntil(signal))).toMatchObject([{ cursor: '1767225600000123' }])
  })

  it('of a key that holds something else is refused for good', async () => {
    const { store } = storeOver([[value([['other']])]])
    expect(await store.acquire([asking('k')], callUntil(signal))).toMatchObject([
      { type: 'refused', error: { code: 'KIND_MISMATCH' } },
    ])
  })

  it('of a release tells how many heard of it, or that it could not be announced', async () => {
    for (const [told, subscribers, cluster] of [
      [0, 0, false],
      [3, 3, false],
      [-1, null, false],
      // A node counts only its own subscribers: zero of those does not mean none, and three means at least three.
      [0, null, true],
      [3, 3, true],
      [-1, null, true],
    ] as const) {
      const { store } = storeOver([[value([told])]], cluster)
      expect(await store.release([{ key: 'k', token }], callUntil(signal))).toEqual([
        { type: 'released', announced: told >= 0, subscribers },
      ])
    }
  })

  it('of a repeated release says what the first did, whatever the client may have sent twice', async () => {
    for (const resent of [true, false]) {
      const { store } = storeOver([
        [
          value(
            [
              ['released', -2],
              ['revoked', -2],
            ],
            resent,
          ),
        ],
      ])
      const requests = ['a', 'b'].map((key) => ({ key, token }))
      expect(await store.release(requests, callUntil(signal))).toEqual([
        { type: 'released', announced: true, subscribers: null },
        { type: 'revoked' },
      ])
    }
  })

  it('of a repeated revocation says what the first did, and that the holder was quicker', async () => {
    for (const [how, type] of [
      ['revoked', 'revoked'],
      ['released', 'free'],
    ]) {
      for (const resent of [true, false]) {
        const { store } = storeOver([[value([['held', 5, token]])], [value([[how, -2]], resent)]])
        expect(await store.revoke('k', callUntil(signal))).toEqual({ type })
      }
    }
  })

  it('of a revocation that found nothing, nor how it ended, is believed unless it may be a repeat', async () => {
    for (const word of ['gone', 'superseded']) {
      for (const [resent, type] of [
        [true, 'revoked'],
        [false, 'free'],
      ] as const) {
        const { store } = storeOver([[value([['held', 5, token]])], [value([[word]], resent)]])
        expect(await store.revoke('k', callUntil(signal))).toEqual({ type })
      }
    }
  })

  it('of a release that found nothing says if the client may have sent it twice', async () => {
    for (const resent of [true, false]) {
      const { store } = storeOver([[value([['gone'], ['superseded']], resent)]])
      const requests = ['a', 'b'].map((key) => ({ key, token }))
      expect(await store.release(requests, callUntil(signal))).toEqual([
        { type: 'gone', resent },
        { type: 'superseded', resent },
      ])
    }
  })
})

describe('an error of the server', () => {
  it.each([
    'LOADING Redis is loading the dataset in memory',
    'BUSY Redis is busy running a script.',
    "OOM command not allowed when used memory > 'maxmemory'.",
    "READONLY You can't write against a read only replica.",
    'MASTERDOWN Link with MASTER is down',
    'CLUSTERDOWN The cluster is down',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'NOREPLICAS Not enough good replicas to write.',
    'MISCONF Redis is configured to save RDB snapshots',
  ])('that passes by itself is worth another try, and certainly nothing was carried out: %s', async (message) => {
    const { store } = storeOver([[error(message)]])
    const [outcome] = await store.acquire([asking('k')], callUntil(signal))
    expect(outcome).toMatchObject({ type: 'unknown', executed: 'no', cause: { message } })
  })

  it('that ends a script in the middle, because its slot is on the move, is worth another try, and some of it may be done', async () => {
    const message = 'ERR Script attempted to access a non local key in a cluster node script: ca40, on @user_script:1'
    const { store } = storeOver([[error(message)]])
    const [outcome] = await store.acquire([asking('k')], callUntil(signal))
    expect(outcome).toMatchObject({ type: 'unknown', executed: 'unknown', cause: { message } })
  })

  it('to a call that the client may have sent twice says nothing of the first', async () => {
    const resent = { ...error('READONLY'), resent: true } as const
    const { store } = storeOver([[resent], [{ ...error('NOPERM'), resent: true }]])
    expect(await store.acquire([asking('k')], callUntil(signal))).toMatchObject([unknown])
    expect(await store.acquire([asking('k')], callUntil(signal))).toMatchObject([{ error: { executed: 'unknown' } }])
  })

  it.each([
    "NOPERM this user has no permissions to run the 'evalsha' command",
    'NOAUTH Authentication required.',
    'ERR unknown command',
    'WRONGTYPE Operation against a key holding the wrong kind of value',
    "CROSSSLOT Keys in request don't hash to the same slot",
  ])('that does not pass is refused for good, with its text as the cause: %s', async (message) => {
    const { store } = storeOver([[error(message)]])
    const [outcome] = await store.acquire([asking('k')], callUntil(signal))
    expect(outcome).toMatchObject({
      type: 'refused',
      error: { code: 'STORE_UNAVAILABLE', executed: 'no', cause: { message } },
    })
  })

  it('about one request of many is that one’s answer alone, whichever script says it', async () => {
    const failed = (message: string) => storeOver([[value([['failed', message], ['spent'], ['gone']])]]).store
    const noPermission = "NOPERM ACL failure in script: User nobody has no permissions to run the 'get' command"
    const refused = { type: 'refused', error: { code: 'STORE_UNAVAILABLE', cause: { message: noPermission } } }
    const passing = { type: 'unknown', executed: 'no', cause: { message: 'LOADING Redis is loading' } }
    for (const [message, outcome] of [
      [noPermission, refused],
      ['LOADING Redis is loading', passing],
    ] as const) {
      const requests = [1, 2].map(() => ({ key: 'k', token, ttlMs: 10_000 }))
      const acquired = await failed(message).acquire([asking('a'), asking('b')], callUntil(signal))
      expect(acquired).toMatchObject([outcome, { type: 'spent' }])
      expect(await failed(message).renew(requests, callUntil(signal))).toMatchObject([outcome, unknown])
      expect(await failed(message).release(requests, callUntil(signal))).toMatchObject([outcome, unknown])
      expect(await failed(message).inspect('k', callUntil(signal))).toMatchObject(outcome)
      expect(await failed(message).checkHolders([{ key: 'k', cursor: '-' }], callUntil(signal))).toMatchObject([
        outcome,
      ])
      expect(await failed(message).revoke('k', callUntil(signal))).toMatchObject(outcome)
    }
  })
})
