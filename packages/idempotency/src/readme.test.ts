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

it('the README has a Worker that answers', async () => {
  const worker = readme.snippets.find((snippet) => snippet.includes('export default')) ?? ''
  const env = { REDIS_REST_URL: gateway.url, REDIS_REST_TOKEN: gateway.token }
  const paying = worker
    .replace('fetch(request: Request,', 'fetch(_: Request,')
    .replace('handle(request,', 'handle(payment(),')
  const payment = `const payment = () => new Request('https://shop.example/', { method: 'POST', headers: { 'idempotency-key': 'k' }, body: '{}' })`
  for (let i = 0; i < 2; i++)
    expect(await readme.outputOfWorker(`${paying}\n${payment}`, env)).toEqual(["200 [ 'paid', 'by' ]"])
  const names = (await gateway.redis.command('KEYS', '*')) as string[]
  expect(names.sort()).toEqual(['{lock:idempotency:shop:k}:fence', '{lock:idempotency:shop:k}:record'])
})
