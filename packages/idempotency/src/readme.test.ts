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
    '@leasehold/idempotency': root,
    '@leasehold/core': join(root, '../core'),
    '@leasehold/upstash': join(root, '../upstash'),
  })
  gateway = await startTestGateway()
})
afterAll(async () => {
  readme[Symbol.dispose]()
  await gateway[Symbol.asyncDispose]()
})

it('the README has a Worker that pays once, and only who may ask, by POST and with a key', async () => {
  const worker = readme.snippets.find((snippet) => snippet.includes('export default')) ?? ''
  const env = { REDIS_URL: gateway.url, REDIS_TOKEN: gateway.token, CUSTOMERS: 'ada:ada-secret bob:bob-secret' }
  const headers = { authorization: 'Bearer ada:ada-secret', 'content-type': 'application/json' }
  const keyed = { ...headers, 'idempotency-key': 'k' }
  const ask = (init: object) =>
    readme.outputOfWorker(worker, env, {
      path: '/payments',
      method: 'POST',
      headers: keyed,
      body: '{"amount":1}',
      ...init,
    })

  for (const body of ['{"amount":1}', '{ "amount": 1 }']) expect(await ask({ body })).toEqual(["201 [ 'paid', 'by' ]"])
  expect(await ask({ method: 'PUT', headers })).toEqual(['405'])
  expect(await ask({ headers })).toEqual(["400 [ 'type', 'title', 'status', 'detail' ]"])
  expect(await ask({ headers: { ...keyed, authorization: 'Bearer ada:' } })).toEqual(['401'])
  expect(await ask({ path: '/' })).toEqual(['404'])
  const names = (await gateway.redis.command('KEYS', '*')) as string[]
  expect(names.sort()).toEqual(['{lock:idempotency:ada:k}:fence', '{lock:idempotency:ada:k}:record'])
})
