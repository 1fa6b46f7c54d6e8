import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, answerOf, post, postPatiently, type Shops, shopNames, startShops } from './shops.ts'

const order = { userId: 'u-1', productId: 'p-1', quantity: 2 }

let shops: Shops
beforeAll(async () => {
  shops = await startShops()
})
afterAll(() => shops[Symbol.asyncDispose]())

describe.each(shopNames)('on %s', (name) => {
  /** The last word of the name makes ids unique to this suite's run. */
  const mine = { 'Node, over TCP': 'tcp', 'Node, over HTTP': 'http', 'workerd, over HTTP': 'workerd' }[name]
  const url = (path: string): string => shops.urls[name] + path

  test('an order is processed once, and everybody gets the one result', async () => {
    const body = { orderId: `${mine}-1`, ...order }
    const answers = await Promise.all(Array.from({ length: 8 }, () => postPatiently(url('/api/orders/process'), body)))
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(7).fill(200), 201])
    const first = answers.find(({ status }) => status === 201)
    expect(first?.body).toMatchObject({ ...body, duplicate: false })
    for (const { status, body } of answers) expect(body).toEqual({ ...first?.body, duplicate: status === 200 })
    expect(await shops.effects(`charge:${mine}-1`)).toHaveLength(1)
  })

  test('another order under the same id is refused', async () => {
    await post(url('/api/orders/process'), { orderId: `${mine}-2`, ...order })
    const answer = await post(url('/api/orders/process'), { orderId: `${mine}-2`, ...order, quantity: 3 })
    expect(answer).toMatchObject({ status: 422, body: { type: '/problems/order-id-reused' } })
  })

  test('an order that the client does not name is placed once for each key of a user', async () => {
    const place = (user: string, quantity = 2): Promise<Answer> => {
      const headers = { 'x-user': user, 'idempotency-key': `${mine}-k` }
      return post(url('/api/orders'), { productId: 'p-1', quantity }, headers)
    }
    const [first, retry, other] = [await place('u-1'), await place('u-1'), await place('u-2')]
    expect([first, retry, other].map(({ status }) => status)).toEqual([201, 201, 201])
    expect([first, retry, other].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([
      null,
      'true',
      null,
    ])
    expect(retry.body).toEqual(first.body)
    expect(await shops.effects(`charge:${first.body['orderId']}`)).toHaveLength(1)
    expect(other.body).toMatchObject({ userId: 'u-2', duplicate: false })
    expect(await place('u-1', 3)).toMatchObject({ status: 422, body: { type: '/problems/key-reused' } })
    expect(await post(url('/api/orders'), {}, { 'idempotency-key': 'k' })).toMatchObject({ status: 400 })
  })

  test('no more coupons are issued than there are, and one to each user', async () => {
    const users = ['u-1', 'u-2', 'u-3', 'u-4', 'u-5'].flatMap((userId) => [userId, userId])
    const answers = await Promise.all(
      users.map((userId) => postPatiently(url(`/api/coupons/${mine}/issue`), { userId })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201, 201, 201, 410, 410, 410, 410])
    expect(await shops.effects(`issue:${mine}:`)).toHaveLength(3)
  })

  test('many concurrent requests for one order have one worker', async () => {
    const response = await fetch(url(`/api/orders/test-concurrent?orderId=${mine}-3&requests=10`))
    expect(await response.json()).toMatchObject({ requests: 10, worked: 1, duplicates: 9, failed: {} })
  })

  test.each([
    ['a field that is missing', { orderId: 'o-3', userId: 'u-1', quantity: 1 }, 400, '"productId"'],
    ['an id that could not be a key', { orderId: 'o 3', ...order }, 400, '"orderId"'],
    ['a number out of range', { orderId: 'o-3', ...order, quantity: 0 }, 400, '"quantity"'],
    ['a body that is no object', 7, 400, 'JSON object'],
    ['a body that is too long', { orderId: 'o-3', note: 'x'.repeat(20_000) }, 413, '16384 bytes'],
  ])('%s is refused', async (_, body, status, detail) => {
    const answer = await post(url('/api/orders/process'), body)
    expect(answer).toMatchObject({ status, body: { status, detail: expect.stringContaining(detail) } })
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
  })

  test('what is no JSON, no coupon or no address is refused', async () => {
    const wrong = [
      fetch(url('/api/orders/process'), { method: 'POST', body: 'orderId=o-3' }),
      fetch(url('/api/orders/process'), {
        method: 'POST',
        body: '{',
        headers: { 'content-type': 'application/json' },
      }),
      fetch(url('/api/orders/test-concurrent?orderId=o-3&requests=many')),
      fetch(url('/api')),
    ]
    const answers = await Promise.all(wrong.map(async (response) => answerOf(await response)))
    expect(answers.map(({ status }) => status)).toEqual([415, 400, 400, 404])
    const { status, body } = await post(url('/api/coupons/none/issue'), { userId: 'u-1' })
    expect([status, body['type']]).toEqual([404, '/problems/no-such-coupon'])
  })
})
