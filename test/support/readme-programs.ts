import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** The programs of a package's README that need services to run, in a folder set up like a reader's project. */
export interface ReadmePrograms extends Disposable {
  /** The TypeScript snippets that say nothing about how they are run, in order. */
  readonly snippets: readonly string[]
  /** What a program prints, line by line. */
  outputOf(program: string, env: Readonly<Record<string, string>>): Promise<readonly string[]>
  /**
   * The outcome of one request to a Worker: its status, and the names in its JSON.
   *
   * @param init its `path`, default `/p1`, and the rest of the request; by default it is a plain GET
   */
  outputOfWorker(
    worker: string,
    env: Readonly<Record<string, string>>,
    init?: Readonly<Record<string, unknown>>,
  ): Promise<readonly string[]>
}

/** The output that a snippet says it prints. */
export const promised = (snippet: string): readonly string[] =>
  Array.from(snippet.matchAll(/\/\/ prints: (.*)$/gm), ([, text]) => text as string)

/**
 * @param root     the package's folder
 * @param packages what a reader installs: name → folder
 */
export function readmePrograms(root: string, packages: Readonly<Record<string, string>>): ReadmePrograms {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-readme-'))
  for (const [name, place] of Object.entries(packages)) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(place, link)
  }
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const run = async (env: Readonly<Record<string, string>>): Promise<readonly string[]> => {
    const options = { env: { ...process.env, ...env }, timeout: 50_000 }
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'main.ts')], options)
    return stdout.trimEnd().split('\n')
  }
  return {
    snippets: Array.from(readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm), ([, code]) => code as string),
    outputOf(program, env) {
      writeFileSync(join(folder, 'main.ts'), program)
      return run(env)
    },
    outputOfWorker(worker, env, init = {}) {
      writeFileSync(join(folder, 'worker.ts'), worker)
      writeFileSync(join(folder, 'main.ts'), oneRequest(init))
      return run(env)
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  }
}

const oneRequest = ({ path = '/p1', ...init }: Readonly<Record<string, unknown>>): string => `
import worker from './worker.ts'
const work: Promise<unknown>[] = []
const ctx = { waitUntil: (promise: Promise<unknown>) => void work.push(promise) }
const response = await worker.fetch(new Request('https://shop.example${path}', ${JSON.stringify(init)}), process.env as never, ctx)
const body = await response.text()
console.log(response.status, ...(body ? [Object.keys(JSON.parse(body))] : []))
await Promise.all(work)
`
