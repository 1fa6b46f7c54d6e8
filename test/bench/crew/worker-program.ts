import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runtimes } from '../../runtimes/runtimes.ts'

/** The program that the processes of a crew run. */
export interface WorkerProgram {
  readonly file: string
  /** The Node that runs it; by default the bench's own. */
  readonly execPath?: string
}

const source = fileURLToPath(new URL('./worker.ts', import.meta.url))
const test = new URL('../../', import.meta.url)

let program: WorkerProgram = { file: source }

export const workerProgram = (): WorkerProgram => program

/**
 * Makes every crew from now on run on another version of Node. An older version cannot read TypeScript, so the program
 * is bundled with our packages; the other libraries stay as installed.
 *
 * @throws Error for a version that is not installed
 */
export async function runWorkersOn(version: string): Promise<void> {
  const execPath = runtimes.find(({ name }) => name === `Node ${version}`)?.binary
  if (execPath === undefined) throw new Error(`Node ${version} is not installed here`)
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', test), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  // Where the other libraries resolve, and where nothing takes the file for a source.
  const file = fileURLToPath(new URL(`node_modules/.bench/worker-${version}.mjs`, test))
  const { build } = await import('esbuild')
  await build({
    entryPoints: [source],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: `node${version}`,
    external: Object.keys(dependencies).filter((name) => !name.startsWith('@leasehold/')),
    logLevel: 'error',
  })
  program = { file, execPath }
}
