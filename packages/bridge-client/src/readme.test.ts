import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { promised, type ReadmePrograms, readmePrograms } from '../../../test/support/readme-programs.ts'
import { bridgeToken, startTestBridge, type TestBridge } from '../../bridge/test/bridge.ts'
import { startTestGateway, type TestGateway } from '../../upstash/test/gateway.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
let readme: ReadmePrograms
let gateway: TestGateway
let bridge: TestBridge
let env: Record<string, string>
beforeAll(async () => {
  readme = readmePrograms(root, {
    '@leasehold/bridge-client': root,
    '@leasehold/core': join(root, '../core'),
    '@leasehold/upstash': join(root, '../upstash'),
  })
  gateway = await startTestGateway()
  bridge = await startTestBridge()
  env = {
    REDIS_URL: gateway.url,
    REDIS_TOKEN: gateway.token,
    BRIDGE_URL: bridge.url,
    BRIDGE_TOKEN: bridgeToken,
  }
})
afterAll(async () => {
  readme[Symbol.dispose]()
  await bridge[Symbol.asyncDispose]()
  await gateway[Symbol.asyncDispose]()
})

describe('the README', () => {
  it('has a program that prints what it says, and leaves nothing held', async () => {
    const [server = ''] = readme.snippets
    expect(promised(server)).toHaveLength(1)
    expect(await readme.outputOf(server, env)).toEqual(promised(server))
    expect(await gateway.redis.command('KEYS', 'lock:*')).toEqual([])
  })

  it('has a Worker that answers with a fence', async () => {
    const [, worker = ''] = readme.snippets
    expect(await readme.outputOfWorker(worker, env)).toEqual(["200 [ 'fence' ]"])
  })
})
