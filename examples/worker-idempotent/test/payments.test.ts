import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bearer, payment, type Reply, recordOf, type Setting, startSetting } from './setting.ts'

let setting: Setting
beforeAll(async () => {
  setting = await startSetting()
})
afterAll(() => setting[Symbol.asyncDispose]())

const paymentsFor = (key: string): number => setting.payments.payments.filter((each) => each === recordOf(key)).length
const typeOf = ({ status, headers, body }: Reply): unknown[] => [status, body['type'], headers.get('content-type')]
const problem = (status: number, type: string): unknown[] => [status, `/problems/${type}`, 'application/problem+json']
const replayed = ({ headers }: Reply): boolean => headers.get('idempotency-replayed') === 'true'

describe('a payment', () => {
  test('is made once for a key, and a retry gets the answer that was stored', async () => {
    const first = await setting.pay('once')
    const retry = await setting.pay('once')
    expect(first).toMatchObject({ status: 201, body: { ...payment, status: 'paid' } })
    expect([retry.status, retry.statusText, retry.text]).toEqual([201, 'Created', first.text])
    expect(first.statusText).toBe('Created')
    expect([first, retry].map(replayed)).toEqual([false, true])
    expect(paymentsFor('once')).toBe(1)
  })

  test('is made once though twenty requests with its key come at once, and all get the one answer', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => setting.payPatiently('rush')))
    expect(paymentsFor('rush')).toBe(1)
    expect(new Set(replies.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1)
    expect(replies.filter(replayed)).toHaveLength(19)
  })

  test('waits for no payment with another key', async () => {
    const keys = ['a', 'b', 'c', 'd', 'e'].map((letter) => `parallel-${letter}`)
    const { gathered, release } = setting.payments.gather(keys.length)
    const replies = Promise.all(keys.map((key) => setting.pay(key)))
    // None of them is answered before all of them are in progress.
    await gathered
    release()
    expect((await replies).map(({ status }) => status)).toEqual(keys.map(() => 201))
  })

  test('of one customer has nothing to do with the same key of another', async () => {
    const init = { method: 'POST', body: JSON.stringify(payment) }
    const ada = await setting.request('/payments', { ...init, headers: { 'idempotency-key': 'shared' } })
    const bob = await setting.request('/payments', {
      ...init,
      headers: { 'idempotency-key': 'shared', ...bearer('bob') },
    })
    expect([ada, bob].map(({ status }) => status)).toEqual([201, 201])
    expect([replayed(bob), bob.body['id'] === ada.body['id']]).toEqual([false, false])
  })

  test('whose query differs is another', async () => {
    const init = { method: 'POST', body: JSON.stringify(payment), headers: { 'idempotency-key': 'dry' } }
    expect((await setting.request('/payments?dry=1', init)).status).toBe(201)
    expect(typeOf(await setting.request('/payments', init))).toEqual(problem(422, 'key-reused'))
  })

  test('that was declined is an answer to keep, too', async () => {
    setting.payments.failNext(402)
    expect((await setting.pay('declined')).status).toBe(402)
    expect((await setting.pay('declined')).status).toBe(402)
    expect(paymentsFor('declined')).toBe(0)
  })

  test('that the payment service did not answer is asked for again by the retry', async () => {
    setting.payments.failNext(500)
    expect(typeOf(await setting.pay('later'))).toEqual(problem(502, 'payment-service'))
    expect((await setting.pay('later')).status).toBe(201)
    expect(paymentsFor('later')).toBe(1)
  })
})

describe('a request is refused', () => {
  test('while another with its key is in progress: 409, and when to ask again', async () => {
    const { gathered, release } = setting.payments.gather(1)
    const first = setting.pay('slow')
    await gathered
    const second = await setting.pay('slow')
    const other = await setting.pay('slow', { ...payment, amount: 1 })
    release()
    expect(typeOf(second)).toEqual(problem(409, 'in-progress'))
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(typeOf(other)).toEqual(problem(422, 'key-reused'))
    expect((await first).status).toBe(201)
    expect([replayed(await setting.pay('slow')), paymentsFor('slow')]).toEqual([true, 1])
  })

  test('if its key was used for something else', async () => {
    await setting.pay('reused')
    expect(typeOf(await setting.pay('reused', { ...payment, amount: 1 }))).toEqual(problem(422, 'key-reused'))
  })

  test.each([
    ['has no key', '/payments', { method: 'POST', body: JSON.stringify(payment) }, problem(400, 'key-missing')],
    ['is no JSON', '/payments', post('{'), problem(400, 'invalid-request')],
    ['has no sense', '/payments', post('{"amount":0,"currency":"EUR"}'), problem(400, 'invalid-request')],
    [
      'comes from nobody',
      '/payments',
      { ...post('{}'), headers: { 'idempotency-key': 'refused', authorization: 'x' } },
      problem(401, 'unknown-customer'),
    ],
    ['has the wrong method', '/payments', {}, problem(405, 'method-not-allowed')],
    ['has the wrong address', '/', {}, problem(404, 'not-found')],
  ])('if it %s', async (_, path, init, expected) => {
    expect(typeOf(await setting.request(path, init))).toEqual(expected)
  })
})

function post(body: string): RequestInit {
  return { method: 'POST', headers: { 'idempotency-key': 'refused' }, body }
}
