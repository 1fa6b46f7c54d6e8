import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/** What the published code of each package may import. Nothing else: no sibling, no client library, no `node:` module. */
const packages: Readonly<Record<string, readonly string[]>> = {
  bridge: ['@leasehold/core', 'hono'], //       over ports; src/bin wires them
  'bridge-client': ['@leasehold/core'], //      2 kB: the service and its dependencies stay out of edge bundles
  cli: [
    '@leasehold/bridge-client',
    ...['@leasehold/core', '@leasehold/ioredis', '@leasehold/upstash'], //  a program: it wires them, and nothing imports it
    ...['commander', 'ioredis', 'node:', 'picocolors', 'string-width'],
  ],
  cloudflare: ['@leasehold/core', 'cloudflare:'], //  whichever store its user has
  core: [],
  express: ['@leasehold/core', '@leasehold/idempotency', 'express', 'node:http', 'node:stream'],
  fastify: ['@leasehold/core', '@leasehold/idempotency', 'fastify'],
  hono: ['@leasehold/core', '@leasehold/idempotency', 'hono'],
  idempotency: ['@leasehold/core'], //        fetch level: no framework, no store of its own
  ioredis: ['@leasehold/core'], //              not even ioredis: the client is typed by the shape it uses
  'node-redis': ['@leasehold/core'], //         as ioredis
  sessions: ['@leasehold/core'], //             edge-pure: sockets are typed by the shape it uses
  nestjs: ['@leasehold/core', '@nestjs/common', 'reflect-metadata', 'node:async_hooks'],
  testkit: ['@leasehold/core', 'vitest', 'node:'],
  upstash: ['@leasehold/core'], //              as ioredis
}

/**
 * The rooms of core, lowest first, and what each may import from the others. A room is a folder of `src`, or a file in
 * `src` itself. Types count.
 */
const rooms: Readonly<Record<string, readonly string[]>> = {
  beside: [], //                                                              facts on lockers and stores, once per process
  hints: [], //                                                               what messages say beyond the fact; nothing at the edge
  errors: ['hints'],
  timing: ['errors'],
  sharing: ['timing'],
  roster: [],
  store: ['beside', 'errors', 'roster', 'sharing', 'timing'], //              the port: what a lease means
  waiting: ['beside', 'errors', 'timing'], //                                 the port: a hint that a lock may be free
  watchdog: ['errors'], //                                                    the port: somebody else renews
  events: ['errors', 'store'],
  options: ['errors', 'store', 'timing', 'waiting', 'watchdog'],
  'open-work': ['errors', 'events', 'roster', 'sharing', 'timing'],
  context: ['events', 'open-work', 'sharing', 'store', 'timing', 'waiting'],
  lease: ['context', 'errors', 'hints', 'options', 'roster', 'store', 'timing', 'watchdog'],
  acquire: ['context', 'errors', 'lease', 'open-work', 'options', 'store', 'timing', 'waiting'],
  'local-queue': ['acquire', 'context', 'lease', 'open-work', 'options', 'sharing', 'store', 'timing', 'waiting'],
  'key-locker': [
    'acquire',
    'beside',
    'context',
    'errors',
    'events',
    'lease',
    'local-queue',
    'options',
    'store',
    'timing',
  ],
  locker: [
    ...[
      'beside',
      'context',
      'errors',
      'events',
      'key-locker',
      'lease',
      'local-queue',
      'open-work',
      'options',
      'sharing',
    ],
    ...['store', 'timing', 'waiting'], //                                     ports, and never a store
  ],
  index: [
    ...['errors', 'events', 'key-locker', 'lease', 'locker', 'open-work', 'options', 'store', 'timing'],
    'watchdog', //                                                            what users need
  ],
  redis: ['errors', 'sharing', 'store', 'timing', 'waiting'],
  memory: ['errors', 'sharing', 'store', 'timing', 'waiting'],
  fencing: ['errors', 'redis', 'store', 'timing'],
  records: [
    ...['context', 'errors', 'key-locker', 'lease', 'locker', 'options', 'redis', 'store', 'timing', 'waiting'],
  ],
  once: ['context', 'errors', 'key-locker', 'locker', 'options', 'records', 'sharing', 'store', 'timing'],
  election: ['context', 'errors', 'events', 'key-locker', 'lease', 'locker', 'options', 'store', 'timing'],
  'hand-over': [
    ...['acquire', 'context', 'errors', 'key-locker', 'lease', 'local-queue', 'locker', 'options', 'redis'],
    ...['store', 'timing'],
  ],
  queue: [
    ...['acquire', 'context', 'errors', 'key-locker', 'lease', 'local-queue', 'locker', 'options', 'redis'],
    ...['sharing', 'store', 'timing', 'waiting'],
  ],
  many: [
    ...['acquire', 'context', 'errors', 'key-locker', 'lease', 'locker', 'options', 'redis', 'store', 'timing'],
    'waiting',
  ],
  're-entry': ['context', 'errors', 'hints', 'key-locker', 'lease', 'locker', 'options', 'store', 'timing'],
  semaphore: ['context', 'errors', 'key-locker', 'lease', 'locker', 'options', 'queue', 'store'],
  'read-write': ['context', 'errors', 'key-locker', 'lease', 'locker', 'options', 'semaphore', 'store'],
  schedule: ['context', 'errors', 'key-locker', 'lease', 'locker', 'options', 'redis', 'store', 'timing'],
  check: ['errors', 'redis', 'store', 'timing', 'waiting'],
  listing: ['context', 'errors', 'key-locker', 'locker', 'redis', 'store', 'timing'],
  locked: ['errors', 'lease', 'options', 'timing'],
  requests: ['errors', 'lease', 'options'],
  presence: [
    ...['acquire', 'context', 'errors', 'key-locker', 'lease', 'local-queue', 'locker', 'options', 'queue'],
    ...['redis', 'sharing', 'store', 'timing', 'waiting'],
  ],
  adapter: [
    ...['errors', 'lease', 'local-queue', 'options', 'redis', 'sharing', 'store', 'timing', 'waiting'],
    'watchdog', //                                                            what authors of stores and notifiers need
  ],
}

/** Library files that wire an adapter to its ports, as a command line does: their users have no other place for it. */
const wiring: Readonly<Record<string, readonly string[]>> = {
  'packages/bridge/src/ioredis/redis-connection.ts': ['@leasehold/ioredis', 'ioredis'],
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const packageNames = readdirSync(join(root, 'packages'))

/** The imports of a published file that the tables above forbid. */
function forbiddenImports(file: string, source: string): readonly string[] {
  const [, name = '', , ...path] = file.split('/')
  // A package's command line may wire anything together; nothing imports it.
  if (path[0] === 'bin') return []
  return importsOf(source).filter((specifier) => {
    const targets = resolved(file, specifier)
    return targets.length > 0
      ? !targets.every((target) => staysInside(name, file, target))
      : ![...(packages[name] ?? []), ...(wiring[file] ?? [])].some((allowed) => allows(allowed, specifier))
  })
}

const allows = (allowed: string, specifier: string): boolean =>
  specifier === allowed || specifier.startsWith(allowed.endsWith(':') ? allowed : `${allowed}/`)

function staysInside(name: string, from: string, to: string): boolean {
  const src = `packages/${name}/src`
  if (!to.startsWith(`${src}/`) || to.startsWith(`${src}/bin/`) || to.endsWith('.test.ts')) return false
  if (name !== 'core') return true
  const [fromRoom, toRoom] = [from, to].map(roomOf) as [string, string]
  return fromRoom === toRoom || rooms[fromRoom]?.includes(toRoom) === true
}

/** The room of a file of core: its folder, or the file itself. */
const roomOf = (file: string): string => relative('packages/core/src', file).split('/')[0]?.replace(/\.ts$/, '') ?? ''

/**
 * The files of the same package that an import may resolve to: one, or one per condition if the package's `imports`
 * choose.
 */
function resolved(file: string, specifier: string): readonly string[] {
  if (specifier.startsWith('.')) return [join(dirname(file), specifier)]
  const [, name = ''] = file.split('/')
  const chosen = manifestOf(name).imports?.[specifier]
  return Object.values(chosen ?? {}).map((target) => join('packages', name, target))
}

interface Manifest {
  readonly exports: object
  readonly imports?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly publishConfig: { readonly exports: object; readonly imports?: object }
}

const manifestOf = (name: string): Manifest =>
  JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'))

/**
 * Every `import`, `export … from` and `import(…)` of a formatted source, where statements begin in the first column.
 */
function importsOf(source: string): readonly string[] {
  const statement =
    /^(?:import|export)\b(?:[\w\s*{},$]*\bfrom\b)?\s*['"]([^'"\n]+)['"]|\bimport\(\s*['"]([^'"\n]+)['"]/gm
  return Array.from(source.matchAll(statement), ([, fixed, dynamic]) => (fixed ?? dynamic) as string)
}

/** The cycles of a graph, each as a path that ends where it began; of cycles that share nodes, at least one. */
function circles(graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const found: string[] = []
  const done = new Set<string>()
  const visit = (node: string, path: readonly string[]): void => {
    const seenAt = path.indexOf(node)
    if (seenAt >= 0) found.push([...path.slice(seenAt), node].join(' → '))
    if (seenAt >= 0 || done.has(node)) return
    for (const next of graph.get(node) ?? []) visit(next, [...path, node])
    done.add(node)
  }
  for (const node of graph.keys()) visit(node, [])
  return found
}

describe('layers', () => {
  const files = globSync('packages/*/src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
  const sourceOf = (file: string): string => readFileSync(join(root, file), 'utf8')
  const imports = new Map(
    files.map((file) => [file, importsOf(sourceOf(file)).flatMap((specifier) => resolved(file, specifier))]),
  )

  test('published code imports only what its layer may', () => {
    const found = files.flatMap((file) =>
      forbiddenImports(file, sourceOf(file)).map((specifier) => `${file} imports ${specifier}`),
    )
    expect(found).toEqual([])
  })

  test('no file imports itself by way of others, for a type either', () => {
    expect(circles(imports)).toEqual([])
  })

  test('nor does a room of core, and the table lists the lowest first', () => {
    const above = Object.entries(rooms).flatMap(([room, allowed], at) =>
      allowed.filter((lower) => Object.keys(rooms).indexOf(lower) >= at).map((lower) => `${room} imports ${lower}`),
    )
    expect(above).toEqual([])
    expect(circles(new Map(Object.entries(rooms)))).toEqual([])
  })

  test('the table of rooms says what is so, and no more', () => {
    const used = new Map<string, Set<string>>()
    for (const [file, targets] of imports) {
      if (!file.startsWith('packages/core/')) continue
      const lower = used.get(roomOf(file)) ?? new Set()
      for (const target of targets) if (roomOf(target) !== roomOf(file)) lower.add(roomOf(target))
      used.set(roomOf(file), lower)
    }
    const asTable = [...used].map(([room, lower]) => [room, [...lower].sort()])
    console.log(
      Object.keys(rooms)
        .map((room) => `${room} → ${rooms[room]?.join(', ') || 'nothing'}`)
        .join('\n'),
    )
    expect(Object.fromEntries(asTable)).toEqual(
      Object.fromEntries(Object.entries(rooms).map(([room, lower]) => [room, lower.toSorted()])),
    )
  })

  test('the page about the architecture has the same table', () => {
    const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
    const rows = Array.from(page.matchAll(/^\| `([\w-]+)` \|[^|]+\|([^|]+)\|$/gm), ([, room = '', lower = '']) => [
      room,
      Array.from(lower.matchAll(/`([\w-]+)`/g), ([, name]) => name).sort(),
    ])
    expect(Object.fromEntries(rows)).toEqual(
      Object.fromEntries(Object.entries(rooms).map(([room, lower]) => [room, lower.toSorted()])),
    )
  })

  test('every package has a row', () => {
    expect(Object.keys(packages).sort()).toEqual(packageNames.toSorted())
  })

  test('a circle would be found', () => {
    const graph = new Map([
      ['a', ['b', 'c']],
      ['b', ['c']],
      ['c', ['b']],
    ])
    expect(circles(graph)).toEqual(['b → c → b'])
  })

  test.each([
    ['packages/core/src/lease/lease.ts', `import { setTimeout } from 'node:timers'`],
    ['packages/core/src/lease/lease.ts', `export type { Redis } from 'ioredis'`],
    ['packages/core/src/lease/renewal.ts', `import '#shared-queue'`],
    ['packages/core/src/locker.ts', `export * from './memory/index.ts'`],
    ['packages/core/src/store/ask.ts', `import type { Context } from '../context.ts'`],
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
  const manifest = manifestOf(name)

  test('has the same layout as its siblings', () => {
    const expected = ['README.md', 'package.json', 'src', 'tsconfig.json', 'tsdown.config.ts']
    expect(expected.filter((entry) => !existsSync(join(folder, entry)))).toEqual([])
    expect(manifest).toMatchObject({ name: `@leasehold/${name}`, license: 'MIT', type: 'module', sideEffects: false })
  })

  test('publishes the entries that the workspace uses', () => {
    expect(Object.keys(manifest.publishConfig.exports)).toEqual(Object.keys(manifest.exports))
    expect(Object.keys(manifest.publishConfig.imports ?? {})).toEqual(Object.keys(manifest.imports ?? {}))
  })
})
