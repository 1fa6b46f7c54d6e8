import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ReadmePrograms, readmePrograms } from '../../../test/support/readme-programs.ts'
import { startTestGateway, type TestGateway } from '../../upstash/test/gateway.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
let readme: ReadmePrograms
let gateway: TestGateway
beforeAll(async () => {
  readme = readmePrograms(root, {
    '@leasehold/hono': root,
    '@leasehold/core': join(root, '../core'),
    '@leasehold/upstash': join(root, '../upstash'),
    hono: join(root, 'node_modules/hono'),
  })
  gateway = await startTestGateway()
})
afterAll(async () => {
  readme[Symbol.dispose]()
  await gateway[Symbol.asyncDispose]()
})

it('the README has a Worker that locks an order, and pays once for a key of a customer', async () => {
  const worker = readme.snippets.find((snippet) => snippet.includes('export default')) ?? ''
  const env = { REDIS_URL: gateway.url, REDIS_TOKEN: gateway.token, CUSTOMERS: 'ada:ada-secret' }
  const headers = { authorization: 'Bearer ada:ada-secret', 'idempotency-key': 'k', 'content-type': 'application/json' }
  const ask = (method: string, path: string, init: object = {}) =>
    readme.outputOfWorker(worker, env, { method, path, headers, ...init })

  expect(await ask('PUT', '/orders/17')).toEqual(["200 [ 'fence' ]"])
  expect(await ask('PUT', '/orders/17', { headers: {} })).toEqual(['401'])
  expect(await ask('POST', '/payments', { body: '{"amount":1}' })).toEqual(["201 [ 'id', 'amount' ]"])
  expect(await ask('POST', '/payments', { body: '{"amount":2}' })).toEqual([expect.stringMatching(/^422 /)])
  const records = (await gateway.redis.command('KEYS', '*:record')) as string[]
  expect(records).toEqual(['{lock:idempotency:ada:k}:record'])
})
