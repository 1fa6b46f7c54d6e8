import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Server, startServer } from './server.ts'

let server: Server
beforeAll(async () => {
  server = await startServer({ REDIS_URL: '', COUPONS: 'few:3', AUDIT: 'on' })
})
afterAll(() => server.stop())

const post = async (path: string, body: object): Promise<number> => {
  const headers = { 'content-type': 'application/json' }
  return (await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).status
}

test('without Redis the server says that it is one process only', () => {
  expect(server.greeting).toContain('embedded store')
})

test('many concurrent requests for one order have one worker', async () => {
  const response = await fetch(`${server.url}/api/orders/test-concurrent?orderId=c-1&requests=50`)
  expect(await response.json()).toMatchObject({ requests: 50, worked: 1, duplicates: 49, failed: {} })
})

test('coupons are issued up to their limit, one to each user', async () => {
  const users = ['u-1', 'u-2', 'u-3', 'u-4', 'u-5'].flatMap((userId) => [userId, userId])
  const statuses = await Promise.all(users.map((userId) => post('/api/coupons/few/issue', { userId })))
  expect(statuses.sort()).toEqual([200, 200, 200, 201, 201, 201, 410, 410, 410, 410])
})

test('the ledger tells each effect once, within its hold', async () => {
  const entries = (await (await fetch(`${server.url}/api/ledger`)).json()) as { type: string; effect?: string }[]
  expect(entries.filter(({ effect }) => effect === 'charge:c-1')).toHaveLength(1)
  expect(entries.slice(0, 3).map(({ type }) => type)).toEqual(['enter', 'effect', 'leave'])
})

test('it stops in order on SIGTERM, though a connection is open that never had a request', async () => {
  const { hostname, port } = new URL(server.url)
  const idle = connect(Number(port), hostname).on('error', () => undefined)
  await once(idle, 'connect')
  expect(await server.stop()).toBe(0)
})
