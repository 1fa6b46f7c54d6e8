import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { promised, type ReadmePrograms, readmePrograms } from '../../../test/support/readme-programs.ts'
import { startTestGateway, type TestGateway } from '../test/gateway.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
let readme: ReadmePrograms
let gateway: TestGateway
let env: Record<string, string>
beforeAll(async () => {
  readme = readmePrograms(root, {
    '@leasehold/upstash': root,
    '@leasehold/core': join(root, 'node_modules/@leasehold/core'),
    '@upstash/redis': join(root, 'node_modules/@upstash/redis'),
  })
  gateway = await startTestGateway()
  const { url, token } = gateway
  env = { REDIS_URL: url, REDIS_TOKEN: token, UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token }
})
afterAll(async () => {
  readme[Symbol.dispose]()
  await gateway[Symbol.asyncDispose]()
})

describe('the README', () => {
  it('has a Worker that answers with a fence, and leaves nothing held', async () => {
    const [worker = ''] = readme.snippets
    expect(await readme.outputOfWorker(worker, env)).toEqual(["200 [ 'fence' ]"])
    expect(await gateway.redis.command('KEYS', 'lock:*')).toEqual([])
  })

  it('has a program for servers that prints what it says', async () => {
    const [, server = ''] = readme.snippets
    expect(promised(server)).toHaveLength(2)
    expect(await readme.outputOf(server, env)).toEqual(promised(server))
  })
})
