import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Server, startServer } from './server.ts'

const order = { userId: 'u-1', productId: 'p-1', quantity: 2 }

describe('two servers on one Redis', () => {
  let redis: RedisServer
  let servers: Server[]

  beforeAll(async () => {
    redis = await startRedis()
    const start = (name: string): Promise<Server> =>
      startServer({ REDIS_URL: redis.url, SERVER_NAME: name, COUPONS: 'few:7', AUDIT: 'on' })
    servers = await Promise.all(['a', 'b'].map(start))
  })
  afterAll(async () => {
    for (const server of servers) await server.stop()
    await redis.stop()
  })

  /** Sends the same request this many times to each server, all at once. */
  const fromBoth = (times: number, path: string, body: (index: number) => object): Promise<Answer[]> =>
    Promise.all(
      Array.from({ length: times }, (_, index) => servers.map(({ url }) => post(url + path, body(index)))).flat(),
    )
  const effects = async (prefix: string): Promise<string[]> => {
    const lines = (await redis.command('LRANGE', 'shop:ledger', 0, -1)) as string[]
    return lines.map((line) => JSON.parse(line).effect).filter((effect) => effect?.startsWith(prefix))
  }

  test('process an order once, and everybody gets the one result', async () => {
    const answers = await fromBoth(8, '/api/orders/process', () => ({ orderId: 'o-1', ...order }))
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(15).fill(200), 201])
    const first = answers.find(({ status }) => status === 201)
    expect(first?.body).toMatchObject({ orderId: 'o-1', ...order, duplicate: false })
    for (const { status, body } of answers) {
      expect(body).toEqual({ ...first?.body, duplicate: status === 200 })
    }
    expect(await effects('charge:o-1')).toEqual(['charge:o-1'])
  })

  test('refuse another order under the same id', async () => {
    const [url] = servers.map((server) => `${server.url}/api/orders/process`) as [string]
    await post(url, { orderId: 'o-2', ...order })
    const answer = await post(url, { orderId: 'o-2', ...order, quantity: 3 })
    expect(answer).toMatchObject({ status: 422, body: { type: '/problems/order-id-reused' } })
  })

  test('issue no more coupons than there are, and one to each user', async () => {
    const answers = await fromBoth(20, '/api/coupons/few/issue', (index) => ({ userId: `u-${index}` }))
    const issued = answers.filter(({ status }) => status === 201).map(({ body }) => body)
    expect(issued.map(({ number }) => number).sort()).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(new Set(issued.map(({ userId }) => userId)).size).toBe(7)
    expect(answers.filter(({ status }) => status === 410)).toHaveLength(2 * 20 - 2 * 7)
    expect(new Set(await effects('issue:few:')).size).toBe(7)
    expect(await effects('issue:few:')).toHaveLength(7)
  })

  test('report one worker for many concurrent requests, wherever they come in', async () => {
    const path = '/api/orders/test-concurrent?orderId=c-1&requests=25'
    const reports = await Promise.all(
      servers.map(
        async ({ url }) => (await (await fetch(url + path)).json()) as { worked: number; duplicates: number },
      ),
    )
    expect(reports).toEqual(Array(2).fill(expect.objectContaining({ requests: 25, failed: {} })))
    expect(reports.map(({ worked }) => worked).sort()).toEqual([0, 1])
    expect(reports.reduce((sum, { duplicates }) => sum + duplicates, 0)).toBe(49)
  })

  test.each([
    ['a field that is missing', { orderId: 'o-3', userId: 'u-1', quantity: 1 }, 400, '"productId"'],
    ['an id that could not be a key', { orderId: 'o 3', ...order }, 400, '"orderId"'],
    ['a number out of range', { orderId: 'o-3', ...order, quantity: 0 }, 400, '"quantity"'],
    ['a body that is no object', 7, 400, 'JSON object'],
    ['a body that is too long', { orderId: 'o-3', note: 'x'.repeat(20_000) }, 413, '16384 bytes'],
  ])('refuse %s', async (_, body, status, detail) => {
    const answer = await post(`${servers[0]?.url}/api/orders/process`, body)
    expect(answer).toMatchObject({ status, body: { status, detail: expect.stringContaining(detail) } })
  })

  test('refuse what is not JSON, no address of theirs, or the wrong method', async () => {
    const { url } = servers[0] as Server
    const wrong = [
      fetch(`${url}/api/orders/process`, { method: 'POST', body: 'orderId=o-3' }),
      fetch(`${url}/api/orders/process`, {
        method: 'POST',
        body: '{',
        headers: { 'content-type': 'application/json' },
      }),
      fetch(`${url}//`),
      fetch(`${url}/api`),
      fetch(`${url}/api/orders/process`),
    ]
    const answers = await Promise.all(wrong)
    expect(answers.map(({ status }) => status)).toEqual([415, 400, 404, 404, 405])
    expect(answers.at(-1)?.headers.get('allow')).toBe('POST')
  })
})

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

async function post(url: string, body: unknown): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}
