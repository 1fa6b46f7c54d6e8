import { execFile } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Snippet, snippetsOf } from './snippets.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Inside the workspace, so that a snippet finds the packages as a reader's program would. */
const folder = fileURLToPath(new URL('.snippets', import.meta.url))

const pages = globSync(['*.md', 'packages/*/README.md', 'docs/**/*.md'], { cwd: root }).sort()
const snippets = pages.flatMap((page) => snippetsOf(page, readFileSync(join(root, page), 'utf8')))
const checked = snippets.filter(({ ignored }) => ignored === undefined)
const running = checked.filter(({ runs }) => runs)
const testing = checked.filter(({ tests }) => tests)

const fileOf = ({ place, tests }: Snippet): string => `${place.replace(/[^\w.]/g, '-')}${tests ? '.test' : ''}.ts`

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const snippet of checked) writeFileSync(join(folder, fileOf(snippet)), `${snippet.program}\nexport {}\n`)
  const compilerOptions = {
    // The options of a reader's strict project, without the workspace's own demands.
    composite: false,
    declaration: false,
    emitDeclarationOnly: false,
    isolatedDeclarations: false,
    noEmit: true,
    noUnusedLocals: false,
    noUnusedParameters: false,
    noPropertyAccessFromIndexSignature: false,
    lib: ['ES2024', 'ESNext.Disposable', 'WebWorker'],
    types: ['node'],
  }
  const config = {
    extends: '../../../tsconfig.base.json',
    compilerOptions,
    include: ['*.ts', '../../../packages/*/src/*.d.ts'],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
})
afterAll(() => rmSync(folder, { recursive: true }))

test('every snippet of a page type-checks', async () => {
  await outputOf('tsc', ['-p', folder, '--pretty', 'false'])
})

test('every snippet type-checks in the project of a Worker, which has no types of the DOM', async () => {
  const types = 'worker/types.d.ts'
  mkdirSync(join(folder, 'worker'))
  writeFileSync(join(folder, 'wrangler.json'), JSON.stringify({ name: 'snippets', compatibility_date: '2026-11-02' }))
  const wrangler = join(root, 'examples/worker-idempotent/node_modules/.bin/wrangler')
  await outputOf(wrangler, ['types', types, '--include-env=false'], { WRANGLER_SEND_METRICS: 'false' })
  const compilerOptions = { lib: ['ES2024', 'ESNext.Disposable'], types: [] }
  const config = { extends: './tsconfig.json', compilerOptions, include: ['*.ts', types] }
  writeFileSync(join(folder, 'tsconfig.worker.json'), JSON.stringify(config))

  // Our sources are written against other types, and a reader gets declarations. So only errors in the snippets count.
  const args = ['-p', 'tsconfig.worker.json', '--pretty', 'false', '--listFiles']
  const output = await outputOf('tsc', args).catch(({ message }: Error) => message)
  expect(output).toContain(types)
  expect(output.match(/^[\w.-]+\(\d+,\d+\): error .*/gm) ?? []).toEqual([])
})

test('the README has a program that runs', () => {
  expect(running.map(({ place }) => place)).toContainEqual(expect.stringMatching(/^README\.md:/))
})

describe('a snippet that says it runs', () => {
  test.each(running.map((snippet) => [snippet.place, snippet] as const))(
    'does what it says: %s',
    async (_, snippet) => {
      await using redis = await startRedis()
      const output = await outputOf(process.execPath, [join(folder, fileOf(snippet))], { REDIS_URL: redis.url })
      if (snippet.prints.length > 0) expect(output.trimEnd().split('\n')).toEqual(snippet.prints)
    },
  )
})

describe('a snippet that is a file of tests', () => {
  /** The result of each file, from one run of them all. */
  let report: { readonly testResults: readonly { readonly name: string; readonly status: string }[] }
  beforeAll(async () => {
    // With the runner alone: the configuration of the workspace is for its own tests.
    const args = ['run', '--root', folder, '--reporter', 'json', '--outputFile', 'report.json', ...testing.map(fileOf)]
    // The report says which file has failed, and why.
    await outputOf('vitest', args).catch(() => undefined)
    report = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8'))
  })

  test.each(testing.map((snippet) => [snippet.place, snippet] as const))('passes: %s', (_, snippet) => {
    const result = report.testResults.find(({ name }) => basename(name) === fileOf(snippet))
    expect(result?.status, JSON.stringify(result, undefined, 2)).toBe('passed')
  })
})

/** What a program printed; if it fails, the error includes that. */
async function outputOf(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  try {
    const options = { cwd: folder, env: { ...process.env, ...env }, timeout: 50_000 }
    return (await promisify(execFile)(command, args, options)).stdout
  } catch (error) {
    const { message, stdout = '' } = error as { message: string; stdout?: string }
    throw new Error(`${message}\n${stdout}`, { cause: error })
  }
}
