import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { expectedFrom, readRequests } from './requests.ts'

const dataFile = (name: string): string => fileURLToPath(new URL(`../data/${name}`, import.meta.url))

test('the file of requests is what its script makes', () => {
  const made = execFileSync(process.execPath, [dataFile('generate-requests.ts')], { encoding: 'utf8' })
  expect(made).toBe(readFileSync(dataFile('requests.jsonl'), 'utf8'))
})

test('the stream has hot keys, duplicates, and more users than coupons', () => {
  const requests = readRequests()
  const { orders, coupons } = expectedFrom(requests, { spring: 25, launch: 5 })
  const forOrders = requests.filter(({ body }) => body.orderId !== undefined)
  expect(orders.size).toBe(60)
  expect(forOrders.length).toBeGreaterThan(3 * orders.size)
  expect(forOrders.filter(({ body }) => body.orderId === 'o-010')).toHaveLength(11)
  for (const { limit, users } of coupons.values()) expect(users.size).toBeGreaterThan(limit)
})

test('what is expected is worked out from the requests alone', () => {
  const request = (path: string, body: object) => ({ at: 0, path, body: { userId: 'u-1', ...body } })
  const requests = [
    request('/api/orders/process', { orderId: 'o-1' }),
    request('/api/orders/process', { orderId: 'o-1' }),
    request('/api/coupons/few/issue', {}),
    request('/api/coupons/unknown/issue', {}),
  ]
  expect(expectedFrom(requests, { few: 2 })).toEqual({
    orders: new Set(['o-1']),
    coupons: new Map([['few', { limit: 2, users: new Set(['u-1']) }]]),
  })
})
