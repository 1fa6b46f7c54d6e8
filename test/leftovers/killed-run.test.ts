import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/scale.ts'
import { isRunning, type Process } from './processes.ts'

const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const here = fileURLToPath(new URL('.', import.meta.url))
/** The processes that a run of `abandoned.ts` has, by a part of their command. */
const kinds = [
  'vitest/dist/workers',
  'redis-server',
  'sh -c',
  'bin/gateway',
  'bin/bridge',
  'wrangler',
  'workerd serve',
  'esbuild --service',
  'node-server/src/main',
  'crew/worker',
  'setInterval',
]

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-leftovers-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/**
 * A run that has started everything, or is over: the run itself, its processes, and the folder of its temporary files.
 */
async function start(ending: string): Promise<{ run: ChildProcess; processes: readonly Process[]; temporary: string }> {
  const LEFTOVERS_FILE = join(folder, `${ending}.json`)
  const temporary = mkdtempSync(join(folder, 'tmp-'))
  const run = spawn(process.execPath, [vitest, 'run', '--root', here], {
    env: { ...process.env, LEFTOVERS_FILE, LEFTOVERS_ENDING: ending, TMPDIR: temporary },
    stdio: 'ignore',
    // In a process group of its own, which can be killed as a whole.
    detached: true,
  })
  await eventually(() => existsSync(LEFTOVERS_FILE) || run.exitCode !== null, 60_000)
  return { run, processes: JSON.parse(readFileSync(LEFTOVERS_FILE, 'utf8')), temporary }
}

test.each([
  ['is killed', ({ pid }: ChildProcess) => process.kill(pid as number, 'SIGKILL')],
  ['is killed with all its group', ({ pid }: ChildProcess) => process.kill(-(pid as number), 'SIGKILL')],
  ['fails', () => undefined],
])(
  'a run that %s leaves no process and no file',
  async (ending, end) => {
    const { run, processes, temporary } = await start(ending)
    const commands = processes.map(({ command }) => command).join('\n')
    expect(
      kinds.filter((kind) => !commands.includes(kind)),
      commands,
    ).toEqual([])
    const ended = once(run, 'exit')
    if (run.exitCode === null) end(run)
    expect(await ended).toEqual(ending === 'fails' ? [1, null] : [null, 'SIGKILL'])
    await expect.poll(() => processes.filter(isRunning)).toEqual([])
    await expect.poll(() => readdirSync(temporary)).toEqual([])
  },
  120_000,
)
