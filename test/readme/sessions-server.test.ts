import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startRedis } from '@leasehold/testkit/redis'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { freePort } from '../../packages/testkit/src/free-port.ts'
import { runProgram } from '../runtimes/running-program.ts'
import { eventually } from '../support/scale.ts'
import { snippetsOf } from './snippets.ts'

const page = 'packages/sessions/README.md'
const markdown = readFileSync(fileURLToPath(new URL(`../../${page}`, import.meta.url)), 'utf8')
const server = snippetsOf(page, markdown).find(({ program }) => program.includes("'SIGTERM'"))

test('the server of the README of sessions ends by itself when it is told to', async ({ onTestFinished }) => {
  await using redis = await startRedis()
  // Inside the workspace, so that it finds the packages as a reader's program would.
  const folder = mkdtempSync(fileURLToPath(new URL('.server-', import.meta.url)))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const port = await freePort()
  const program = (server?.program ?? '')
    .replace(/^declare const userOf: .*$/m, "const userOf = (_request: IncomingMessage): string => 'ada'")
    .replace('listen(3000)', `listen(${port})`)
  writeFileSync(join(folder, 'server.ts'), program)
  const running = runProgram([process.execPath, 'server.ts'], folder, { REDIS_URL: redis.url })
  onTestFinished(running.kill)
  let client: WebSocket | undefined
  await eventually(async () => {
    client = new WebSocket(`ws://localhost:${port}/?tab=t1`)
    return once(client, 'open').then(Boolean, () => false)
  })
  const writing = setInterval(() => client?.send('hello'), 50)
  onTestFinished(() => clearInterval(writing))
  await running.line(/^writes with fence \d+: hello$/)
  clearInterval(writing)
  const closed = once(client as WebSocket, 'close')
  running.terminate()
  expect((await closed).map(String)).toEqual(['1000', 'left'])
  expect(await running.ended).toMatchObject({ code: 0, err: '' })
})
