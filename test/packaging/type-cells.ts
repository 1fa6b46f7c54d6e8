import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Installation, testFolder } from './installation.ts'

/** One way to compile programs that use our packages. */
export interface TypeCell {
  readonly typescript: '5.0' | '5.4' | '5.9' | '7'
  readonly resolution: 'node10' | 'node16' | 'nodenext' | 'bundler'
  readonly format: 'cjs' | 'esm'
}

/** A compiler's verdict on a program: `fine`, or the code of its first error and the package in which it is. */
export interface Verdict {
  readonly verdict: string
  readonly message: string
}

/** The programs, by what their project has beside our packages: a browser's library without Node, or Node's types. */
const projects = {
  edge: ['core', 'block', 'locked', 'upstash', 'bridge-client', 'cloudflare', 'idempotency', 'hono', 'sessions'],
  node: ['ioredis', 'node-redis', 'upstash-client', 'bridge', 'durable-object', 'testkit', 'conformance'],
} as const

type Project = keyof typeof projects
const projectNames = Object.keys(projects) as readonly Project[]
export const programs: readonly string[] = Object.values(projects).flat()

export const typeCells: readonly TypeCell[] = (['5.0', '5.4', '5.9', '7'] as const).flatMap((typescript) =>
  (['node10', 'node16', 'nodenext', 'bundler'] as const).flatMap((resolution) =>
    (['cjs', 'esm'] as const).map((format) => ({ typescript, resolution, format })),
  ),
)

export const cellName = ({ typescript, resolution, format }: TypeCell): string =>
  `${typescript} ${resolution} ${format}`

/** The JavaScript of a program, within the installation. */
export function compiled(cell: TypeCell, program: string): string {
  const [project = 'node'] = projectNames.filter((name) => projects[name].some((each) => each === program))
  return join(folderOf(cell, project), 'out', `${program}.js`)
}

const folderOf = (cell: TypeCell, project: Project): string => `types/${cellName(cell).replaceAll(' ', '-')}-${project}`

/**
 * Compiles all programs in one way.
 *
 * @param emits whether their JavaScript is wanted, and not only the verdicts: it takes a compiler several seconds more
 */
export async function compile(
  installation: Installation,
  cell: TypeCell,
  emits: boolean,
): Promise<ReadonlyMap<string, Verdict>> {
  const verdicts = new Map<string, Verdict>()
  for (const project of projectNames) {
    const names = projects[project].filter((name) => name !== 'block' || cell.typescript !== '5.0')
    const output = await compileProject(installation, cell, project, names, emits)
    for (const name of names) verdicts.set(name, verdictOn(name, output))
  }
  return verdicts
}

async function compileProject(
  { folder, write }: Installation,
  cell: TypeCell,
  project: Project,
  names: readonly string[],
  emits: boolean,
): Promise<string> {
  const { typescript, resolution, format } = cell
  const within = folderOf(cell, project)
  const ownModule = format === 'cjs' ? 'commonjs' : 'es2022'
  const compilerOptions = {
    target: 'es2022',
    module: resolution === 'node16' || resolution === 'nodenext' ? resolution : ownModule,
    moduleResolution: resolution,
    // Without `esnext.disposable`: what `await using` needs comes with our declarations.
    lib: ['es2022', ...(project === 'edge' || typescript === '5.0' ? ['dom'] : [])],
    types: project === 'edge' ? [] : ['node'],
    typeRoots: ['./types'],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    rootDir: '.',
    outDir: 'out',
    noEmit: !emits,
  }
  write(`${within}/package.json`, JSON.stringify({ type: format === 'cjs' ? 'commonjs' : 'module' }))
  write(`${within}/tsconfig.json`, JSON.stringify({ compilerOptions, files: names.map((name) => `${name}.ts`) }))
  for (const name of names) write(`${within}/${name}.ts`, sourceOf(name))
  mkdirSync(join(folder, within, 'types'))
  if (project === 'node') {
    // TypeScript 5.0 cannot read the current ones.
    const types = typescript === '5.0' ? 'types-node-20.5' : '@types/node'
    symlinkSync(join(testFolder, 'node_modules', types), join(folder, within, 'types/node'))
  }
  const compiler = typescript === '7' ? '../node_modules/typescript' : `node_modules/typescript-${typescript}`
  const args = [join(testFolder, compiler, 'bin/tsc'), '-p', within, '--pretty', 'false']
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 67_108_864 }, (error, stdout, stderr) =>
      resolve(error ? stdout || stderr || error.message : ''),
    )
  })
}

const sourceOf = (program: string): string => readFileSync(new URL(`programs/${program}.ts`, import.meta.url), 'utf8')

/** The packages whose declarations a program reads, in addition to core's. */
const reads: Readonly<Record<string, readonly string[]>> = {
  core: [],
  block: [],
  locked: [],
  upstash: ['@leasehold/upstash'],
  'bridge-client': ['@leasehold/bridge-client', '@leasehold/upstash'],
  cloudflare: ['@leasehold/cloudflare'],
  idempotency: ['@leasehold/idempotency'],
  hono: ['@leasehold/hono', '@leasehold/idempotency', 'hono'],
  sessions: ['@leasehold/sessions'],
  ioredis: ['@leasehold/ioredis', 'ioredis'],
  'node-redis': ['@leasehold/node-redis', 'redis', '@redis/client'],
  'upstash-client': ['@leasehold/upstash', '@upstash/redis'],
  bridge: ['@leasehold/bridge', '@leasehold/ioredis', 'hono', 'ioredis'],
  'durable-object': ['@leasehold/bridge'],
  testkit: ['@leasehold/testkit'],
  conformance: ['@leasehold/testkit', 'vitest', 'vite', '@vitest/mocker', '@vitest/runner', '@vitest/utils'],
}

function verdictOn(program: string, output: string): Verdict {
  const errors = Array.from(
    output.matchAll(/^(?:(.*?)\(\d+,\d+\): )?error (TS\d+): (.*)$/gm),
    ([, file, code, message]) => ({
      file: file ?? 'tsconfig.json',
      code: code ?? '',
      message: message ?? '',
    }),
  )
  const own = errors.find(
    ({ file }) => !packageOf(file) && (basename(file) === `${program}.ts` || basename(file) === 'tsconfig.json'),
  )
  // The compiler sorts its errors by path, so which comes first depends on where the packages are.
  const found =
    own ?? errors.find(({ file }) => ['@leasehold/core', ...(reads[program] ?? [])].includes(packageOf(file) ?? ''))
  if (!found) return { verdict: output && errors.length === 0 ? 'crashed' : 'fine', message: output.slice(0, 500) }
  const name = packageOf(found.file)
  return { verdict: name ? `${found.code} in ${name}` : found.code, message: found.message }
}

/** The package that contains a file, if any. */
const packageOf = (file: string): string | undefined => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]
