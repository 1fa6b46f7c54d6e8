import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runProcesses } from './processes.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leasehold-stress-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const orders = { settings: {} as never, key: 'k', callers: 3, forMs: 100, holdMs: 1, ttlMs: 1_000 }
const stays = 'setInterval(() => undefined, 1_000)'

test.each([
  [
    'never connects',
    stays,
    /^process 1 of 1 \(pid \d+\) .*did not connect within 1.1 s.*contend for 0.1 s with 3 callers$/,
  ],
  [
    'connects and falls silent',
    `process.send({ type: 'ready' }); ${stays}`,
    /connected, and did not report within 1.1 s/,
  ],
  ['fails', `process.send({ type: 'failed', reason: 'no Redis' }); ${stays}`, /^process 1 of 1 .* failed: no Redis$/],
  ['is killed', `process.kill(process.pid, 'SIGKILL')`, /^process 1 of 1 .* ended with SIGKILL and without a report$/],
])('a process that %s is named, with what it was to do', async (_, what, said) => {
  const program = join(folder, `${said.source.length}.mjs`)
  await writeFile(program, `process.once('message', () => { ${what} })`)
  const running = runProcesses(1, orders, new AbortController().signal, { program, graceMs: 1_000 })
  await expect(running).rejects.toThrow(said)
})
