import { callUntil } from '@leasehold/testkit'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { InvalidOptionError } from '../errors.ts'
import { redisStore } from '../redis/index.ts'
import type { RedisTransport, ScriptCall } from '../redis/redis-transport.ts'
import type { QueueStore } from '../store/queue.ts'
import { drawAcquisitionId } from '../store/token.ts'
import { Call, type CallDeadline } from '../timing/call-deadline.ts'
import { jointTries } from './joint-tries.ts'
import { queueOf } from './queue-of.ts'

interface Wish {
  readonly key: string
}

/** Records the commands that left, in order. A key begins with the name of its node. */
function setUp() {
  const sent: { readonly keys: readonly string[]; readonly call: CallDeadline }[] = []
  const run = async (requests: readonly Wish[], call: CallDeadline): Promise<readonly string[]> => {
    if (requests.some(({ key }) => key === 'a:bad')) throw new InvalidOptionError('key', 'another')
    sent.push({ keys: requests.map(({ key }) => key), call })
    return requests.map(({ key }) => `of ${key}`)
  }
  const send = jointTries((key) => key.slice(0, 1), run)
  const keys = (): readonly (readonly string[])[] => sent.map((each) => each.keys)
  return { send: (key: string, call: CallDeadline = new Call(1_000)) => send({ key }, call), sent, keys }
}

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('tries of one turn', () => {
  it('share a command for each node, and each gets its own answer', async () => {
    const { send, keys } = setUp()
    const later = Promise.resolve().then(() => send('a:3'))
    expect(await Promise.all([send('a:1'), send('b:1'), send('a:2'), later])).toEqual([
      'of a:1',
      'of b:1',
      'of a:2',
      'of a:3',
    ])
    expect(keys()).toEqual([['a:1', 'a:2', 'a:3'], ['b:1']].toSorted((x, y) => x.length - y.length))
    await send('a:4')
    expect(keys().at(-1)).toEqual(['a:4'])
  })

  it('are so many to a command and no more', async () => {
    const { send, keys } = setUp()
    await Promise.all(Array.from({ length: 130 }, (_, at) => send(`a:${at}`)))
    expect(keys().map(({ length }) => length)).toEqual([64, 64, 2])
  })

  it('go apart where one may take more than twice as long as another', async () => {
    const { send, sent } = setUp()
    await Promise.all([1_000, 1_900, 2_100].map((withinMs, at) => send(`a:${at}`, new Call(withinMs))))
    expect(sent.map(({ keys, call }) => [keys.length, call.withinMs])).toEqual(
      expect.arrayContaining([
        [2, 1_000],
        [1, 2_100],
      ]),
    )
  })

  it('are not sent for who has given up before, and are given up once all have', async () => {
    const { send, sent } = setUp()
    const [gone, first, second] = [new Call(1_000), new Call(1_000), new Call(1_000)]
    const sending = [gone, first, second].map((call, at) => send(`a:${at}`, call))
    gone.end()
    const [unsent] = await Promise.all(sending)
    expect(unsent).toEqual({ type: 'unknown', executed: 'no' })
    expect(sent.map(({ keys }) => keys)).toEqual([['a:1', 'a:2']])
    first.end()
    expect(sent[0]?.call.isOver).toBe(false)
    second.end()
    expect(sent[0]?.call.isOver).toBe(true)
  })

  it('do not pay for one that is refused before it is sent', async () => {
    const { send } = setUp()
    const [bad, good] = await Promise.allSettled([send('a:bad'), send('a:1')])
    expect(bad).toMatchObject({ reason: { code: 'INVALID_OPTION' } })
    expect(good).toMatchObject({ value: 'of a:1' })
  })

  it('share nothing on Workers', async () => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
    const { send, keys } = setUp()
    await Promise.all([send('a:1'), send('a:2')])
    expect(keys()).toEqual([['a:1'], ['a:2']])
  })

  it('alone keep the call of their caller', async () => {
    const { send, sent } = setUp()
    const call = callUntil(new AbortController().signal)
    await send('a:1', call)
    expect(sent[0]?.call).toBe(call)
  })

  it('of a Redis store are one call of their script', async () => {
    const called: ScriptCall[] = []
    const run: RedisTransport['run'] = async (calls) => {
      called.push(...calls)
      return calls.map(() => ({ type: 'unknown', executed: 'no' }))
    }
    const transport = { commandDeadlineMs: 2_000, cluster: false, countsSubscribers: true, nodeOf: () => '', run }
    const queue = queueOf(redisStore({ ...transport, whenReady: () => undefined })) as QueueStore
    const kind = { name: 'semaphore', capacity: 2 } as const
    const wish = { kind, permits: 1, ttlMs: 1_000, waiter: undefined }
    const asked = ['a', 'b'].map((key) => ({ ...wish, key, acquisitionId: drawAcquisitionId() }))
    await Promise.all(asked.map((each) => queue.acquire(each, new Call(1_000))))
    expect(called.map(({ keys }) => keys.length)).toEqual([12])
  })
})
