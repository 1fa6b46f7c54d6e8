import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bridgeToken, startTestBridge, type TestBridge } from '../../bridge/test/bridge.ts'
import { startTestGateway, type TestGateway } from '../../upstash/test/gateway.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const [server = '', worker = ''] = Array.from(
  readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm),
  ([, code]) => code as string,
)

/** A folder with the packages installed as in a reader's project. */
const folder = mkdtempSync(join(tmpdir(), 'leasehold-readme-'))
mkdirSync(join(folder, 'node_modules/@leasehold'), { recursive: true })
for (const name of ['bridge-client', 'core', 'upstash']) {
  symlinkSync(join(root, '..', name), join(folder, 'node_modules/@leasehold', name))
}
let gateway: TestGateway
let bridge: TestBridge
beforeAll(async () => {
  gateway = await startTestGateway()
  bridge = await startTestBridge()
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await bridge[Symbol.asyncDispose]()
  await gateway[Symbol.asyncDispose]()
})

async function outputOf(name: string, program: string): Promise<readonly string[]> {
  writeFileSync(join(folder, name), program)
  const env = {
    ...process.env,
    REDIS_REST_URL: gateway.url,
    REDIS_REST_TOKEN: gateway.token,
    BRIDGE_URL: bridge.url,
    BRIDGE_TOKEN: bridgeToken,
  }
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, name)], { env, timeout: 50_000 })
  return stdout.trimEnd().split('\n')
}

describe('the README', () => {
  it('has a program that prints what it says, and leaves nothing held', async () => {
    const prints = Array.from(server.matchAll(/\/\/ prints: (.*)$/gm), ([, text]) => text)
    expect(await outputOf('server.ts', server)).toEqual(prints)
    expect(prints).toHaveLength(1)
    expect(await gateway.redis.command('KEYS', 'lock:*')).toEqual([])
  })

  it('has a Worker that answers with a fence', async () => {
    writeFileSync(join(folder, 'worker.ts'), worker)
    const output = await outputOf(
      'main.ts',
      `import worker from './worker.ts'
       const work: Promise<unknown>[] = []
       const ctx = { waitUntil: (promise: Promise<unknown>) => void work.push(promise) }
       const response = await worker.fetch(new Request('https://shop.example/p1'), process.env as never, ctx)
       console.log(response.status, Object.keys(await response.json()))
       await Promise.all(work)`,
    )
    expect(output).toEqual(["200 [ 'fence' ]"])
  })
})
