import { AcquireTimeoutError, type LeaseLostError } from '@leasehold/core'
import { type LockedRequestOptions, lockedRequest } from '@leasehold/core/requests'
import { follow, requestLost, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'

const setUp = () => testLocker({ name: 'here' })
let { locks, elsewhere, store, clock } = setUp()
beforeEach(() => {
  ;({ locks, elsewhere, store, clock } = setUp())
})

const asked = (init: RequestInit = {}): Request => new Request('https://shop.example/orders/7', init)
const under = (options: Partial<LockedRequestOptions> = {}) =>
  lockedRequest({ locks, key: (request) => new URL(request.url).pathname, ...options })
const never = (): never => {
  throw new Error('It must not run')
}
const typeOf = async (response: Response): Promise<unknown> => ((await response.json()) as { type: string }).type

describe('a request under a lock', () => {
  it('is answered by its work, which is given the lease, and gives the lock back', async () => {
    const answer = await under()(asked(), async (request, { key, fence }) =>
      Response.json([request.method, key, fence > 0, await elsewhere.isLocked(key)]),
    )
    expect(await answer.json()).toEqual(['GET', '/orders/7', true, true])
    expect(await elsewhere.isLocked('/orders/7')).toBe(false)
  })

  it('gives the lock back when its work throws, and rejects with that', async () => {
    await expect(under()(asked(), never)).rejects.toThrow('It must not run')
    expect(await elsewhere.isLocked('/orders/7')).toBe(false)
  })

  it('is refused while somebody holds the lock: 409, 423, or as you say', async () => {
    await elsewhere.acquire('/orders/7')
    const answers = [
      await under({ wait: 0 })(asked(), never),
      await under({ wait: 0, onContended: 423, problems: 'https://shop.example/' })(asked(), never),
      await under({ wait: 0, onContended: (_, { key }) => new Response(key, { status: 429 }) })(asked(), never),
    ]
    expect(answers.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual([
      [409, '1'],
      [423, '1'],
      [429, null],
    ])
    const [first, second, third] = answers as [Response, Response, Response]
    expect(first.headers.get('content-type')).toBe('application/problem+json')
    expect([await typeOf(first), await typeOf(second), await third.text()]).toEqual([
      '/problems/contended',
      'https://shop.example/contended',
      '/orders/7',
    ])
  })

  it('is told of a store that does not answer, of a shutdown, and of a name that no lock can have', async () => {
    const tooLong = await under({ key: () => 'k'.repeat(10_000) })(asked(), never)
    expect([tooLong.status, await typeOf(tooLong)]).toEqual([400, '/problems/not-lockable'])
    store.always('acquire', requestLost)
    const unanswered = follow(under({ wait: '1s', onContended: never })(asked(), never), clock)
    await clock.advance(10_000)
    expect(unanswered.value?.status).toBe(503)
    await locks.close()
    const closed = await under()(asked(), never)
    expect([closed.status, await typeOf(closed)]).toEqual([503, '/problems/shutting-down'])
  })

  it('rejects with the reason of its client when that leaves while it waits', async () => {
    await elsewhere.acquire('/orders/7')
    const client = new AbortController()
    const call = follow(under()(asked({ signal: client.signal }), never), clock)
    await clock.advance(10)
    client.abort('left')
    await clock.advance(10)
    expect(call).toMatchObject({ state: 'rejected', reason: 'left' })
  })

  it('whose lease is lost meanwhile says so in a header, or answers as you say', async () => {
    const work = async (): Promise<Response> => {
      await locks.revoke('/orders/7')
      return new Response('done', { status: 201 })
    }
    const told = await under()(asked(), work)
    expect([told.status, await told.text(), told.headers.get('lease-lost')]).toEqual([201, 'done', 'gone'])
    const onLost = (_: Request, { reason }: LeaseLostError, answer: Response) =>
      new Response(reason, { status: answer.status + 1 })
    const own = await under({ onLost })(asked(), work)
    expect([own.status, await own.text()]).toEqual([202, 'gone'])
  })

  it('that meets contention in its work rejects with that', async () => {
    await elsewhere.acquire('other')
    const work = async () => locks.withLock('other', { wait: 0 }, async () => new Response())
    await expect(under()(asked(), work)).rejects.toSatisfy((error) => error instanceof AcquireTimeoutError)
  })
})

describe('a mistake', () => {
  it.each([
    ['locks', { locks: {} }],
    ['key', { key: 'text' }],
    ['onContended', { onContended: 429 }],
    ['onLost', { onLost: 1 }],
    ['problems', { problems: 1 }],
    ['signal', { signal: undefined }],
    ['wait', { wait: -1 }],
    ['retries', { retries: 1 }],
  ])('in %s is told at once', (option, options) => {
    expect(() => under(options as object)).toThrow(expect.objectContaining({ option }))
  })

  it('in what `key` returns is told with the call', async () => {
    await expect(under({ key: () => 5 as never })(asked(), never)).rejects.toMatchObject({ option: 'key' })
  })
})
