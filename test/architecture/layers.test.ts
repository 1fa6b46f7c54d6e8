import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/** What the published code of each package may import. Nothing else: no sibling, no client library, no `node:` module. */
const packages: Readonly<Record<string, readonly string[]>> = {
  bridge: ['@leasehold/core', 'hono'], //       over ports; src/bin wires them
  core: ['@leasehold/core/sharing'], //         itself, so that the reader's export conditions choose the file
  ioredis: ['@leasehold/core'], //              not even ioredis: the client is typed by the shape that is used
  testkit: ['@leasehold/core', 'vitest', 'node:'],
  upstash: ['@leasehold/core'], //              as ioredis
}

/** What each folder of core may import from the others; `.` are the files that lie in `src` itself. */
const coreFolders: Readonly<Record<string, readonly string[]>> = {
  '.': ['timing'], //                           the locker knows ports, never a store
  timing: ['.'], //                             for the errors
  scripts: [],
  redis: ['.', 'timing', 'scripts'],
  memory: ['.', 'timing'],
  fencing: ['.', 'timing', 'scripts', 'redis'],
}

/** Files of a library that wire an adapter to its ports, as a command line does: their users have no other place for it. */
const wiring: Readonly<Record<string, readonly string[]>> = {
  'packages/bridge/src/durable-object/redis-connection.ts': ['@leasehold/ioredis', 'ioredis'],
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const packageNames = readdirSync(join(root, 'packages'))

/** The imports of a published file that the tables above do not allow. */
function forbiddenImports(file: string, source: string): readonly string[] {
  const [, name = '', , ...path] = file.split('/')
  // A package's command line wires whatever it likes together; nothing imports it.
  if (path[0] === 'bin') return []
  return importsOf(source).filter((specifier) =>
    specifier.startsWith('.')
      ? !staysInside(name, file, join(dirname(file), specifier))
      : ![...(packages[name] ?? []), ...(wiring[file] ?? [])].some((allowed) => allows(allowed, specifier)),
  )
}

const allows = (allowed: string, specifier: string): boolean =>
  specifier === allowed || specifier.startsWith(allowed.endsWith(':') ? allowed : `${allowed}/`)

function staysInside(name: string, from: string, to: string): boolean {
  const src = `packages/${name}/src`
  if (!to.startsWith(`${src}/`) || to.startsWith(`${src}/bin/`) || to.endsWith('.test.ts')) return false
  if (name !== 'core') return true
  const [fromFolder, toFolder] = [from, to].map(folderIn(src)) as [string, string]
  return fromFolder === toFolder || coreFolders[fromFolder]?.includes(toFolder) === true
}

const folderIn =
  (src: string) =>
  (file: string): string =>
    relative(src, dirname(file)).split('/')[0] || '.'

/** Every `import`, `export … from` and `import(…)` of a formatted source: statements begin in the first column. */
function importsOf(source: string): readonly string[] {
  const statement =
    /^(?:import|export)\b(?:[\w\s*{},$]*\bfrom\b)?\s*['"]([^'"\n]+)['"]|\bimport\(\s*['"]([^'"\n]+)['"]/gm
  return Array.from(source.matchAll(statement), ([, fixed, dynamic]) => (fixed ?? dynamic) as string)
}

describe('layers', () => {
  const files = globSync('packages/*/src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))

  test('published code imports only what its layer may', () => {
    const found = files.flatMap((file) =>
      forbiddenImports(file, readFileSync(join(root, file), 'utf8')).map((specifier) => `${file} imports ${specifier}`),
    )
    expect(found).toEqual([])
  })

  test('every package and every folder of core has a row', () => {
    expect(Object.keys(packages).sort()).toEqual(packageNames.toSorted())
    const folders = new Set(
      files.filter((file) => file.startsWith('packages/core/')).map(folderIn('packages/core/src')),
    )
    expect([...folders].filter((folder) => !(folder in coreFolders))).toEqual([])
  })

  test.each([
    ['packages/core/src/lease.ts', `import { setTimeout } from 'node:timers'`],
    ['packages/core/src/lease.ts', `export type { Redis } from 'ioredis'`],
    ['packages/core/src/locker.ts', `export * from './memory/index.ts'`],
    ['packages/core/src/redis/keys.ts', `import '../memory/entries.ts'`],
    ['packages/core/src/memory/store.ts', `export { keyLayout } from '../redis/keys.ts'`],
    ['packages/ioredis/src/index.ts', `import { Redis } from 'ioredis'`],
    ['packages/ioredis/src/index.ts', `const redis = await import('ioredis')`],
    ['packages/ioredis/src/index.ts', `import { redisStore } from '../../core/src/redis/index.ts'`],
    ['packages/ioredis/src/index.ts', `import { start } from '@leasehold/testkit/redis'`],
    ['packages/testkit/src/index.ts', `import { main } from './bin/main.ts'`],
  ])('the check would find, in %s: %s', (file, source) => {
    expect(forbiddenImports(file, `${source}\n`)).toHaveLength(1)
  })
})

describe.each(packageNames)('the package %s', (name) => {
  const folder = join(root, 'packages', name)
  const manifest: { exports: object; publishConfig: { exports: object } } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  )

  test('has the same layout as its siblings', () => {
    const expected = ['README.md', 'package.json', 'src', 'tsconfig.json', 'tsdown.config.ts']
    expect(expected.filter((entry) => !existsSync(join(folder, entry)))).toEqual([])
    expect(manifest).toMatchObject({ name: `@leasehold/${name}`, license: 'MIT', type: 'module', sideEffects: false })
  })

  test('publishes the entries that the workspace uses', () => {
    expect(Object.keys(manifest.publishConfig.exports)).toEqual(Object.keys(manifest.exports))
  })
})
