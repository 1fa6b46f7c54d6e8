import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export const main: string = fileURLToPath(new URL('../src/bin/leasehold.ts', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** The environment of a program, with nothing of the tester's own. */
export function environment(env: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { PATH = '', LEASEHOLD_TEST_RUN = '', NODE_COMPILE_CACHE = '' } = process.env
  return { PATH, LEASEHOLD_TEST_RUN, NODE_COMPILE_CACHE, ...env }
}

/** Starts the program without a terminal. */
export function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [main, ...args], { env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  const ended = once(child, 'close').then(([code]): Ended => ({ code: code as number | null, out, err }))
  return { child, ended, out: () => out, err: () => err }
}

/** Runs the program to its end. */
export const run = (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended> =>
  start(args, env).ended
