import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type LocalProcess, startNodeProgram } from '@leasehold/example-local/node-program'

const example = new URL('..', import.meta.url)

/** Compiles the application, as its `start` does. */
export async function build(): Promise<void> {
  await promisify(execFile)('tsc', ['-b', '--pretty', 'false'], { cwd: fileURLToPath(example), timeout: 50_000 })
}

/** Starts the application in its own process. */
export const startNest = (env: Readonly<Record<string, string>>): Promise<LocalProcess> =>
  startNodeProgram(new URL('dist/main.js', example), env)
