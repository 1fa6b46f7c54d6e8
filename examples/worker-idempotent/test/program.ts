import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A program of `@leasehold/bridge` as a process of its own. */
export interface Program extends AsyncDisposable {
  readonly url: string
}

const commands = fileURLToPath(new URL('../node_modules/.bin', import.meta.url))

/**
 * Starts it on a free port and resolves when it has said where it listens.
 *
 * @param env its settings. Not as flags, which other users of the machine could read
 * @throws Error with what it said if it ends instead
 */
export async function startProgram(command: string, env: Readonly<Record<string, string>>): Promise<Program> {
  const child = spawn(join(commands, command), ['--port', '0'], {
    env: {
      // The same Node as ours.
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      // By this, whatever a test run started is found when it ends.
      LEASEHOLD_TEST_RUN: process.env['LEASEHOLD_TEST_RUN'],
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let problems = ''
  child.stderr.on('data', (chunk) => {
    problems += chunk
  })
  const ended = once(child, 'exit')
  const url = Promise.withResolvers<string>()
  // All lines are read, so that the pipe does not fill up.
  createInterface({ input: child.stdout }).on('line', (line) => {
    const said = /http:\/\/[^\s"]+/.exec(line)?.[0]
    if (said !== undefined) url.resolve(said)
  })
  ended.then(() => Promise.reject(new Error(`${command} ended before it listened:\n${problems}`))).catch(url.reject)
  return {
    url: await url.promise,
    async [Symbol.asyncDispose]() {
      child.kill()
      await ended
    },
  }
}
