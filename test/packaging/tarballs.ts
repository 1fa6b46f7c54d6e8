import { execFile } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { keptFolder, packedOnce } from './packed.ts'

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly exports: Readonly<Record<string, unknown>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** A package as it would be published. */
export interface Tarball {
  /** Its manifest within the workspace, and the folder of that. */
  readonly manifest: Manifest
  readonly folder: string
  /** Its manifest as it is published. */
  readonly published: Manifest
  readonly file: string
  /** The files in it. */
  readonly paths: readonly string[]
}

/** Entries that are published as ESM alone, each with its reason. Every other one is CommonJS, too. */
export const esmOnly: Readonly<Record<string, string>> = {
  '@leasehold/bridge/durable-object': 'runs in workerd alone, which loads ESM',
  '@leasehold/cloudflare': 'the same',
  '@leasehold/testkit/conformance': 'consists of tests for Vitest, which is ESM alone',
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Builds and packs every published package. */
export async function packAll(): Promise<readonly Tarball[]> {
  const manifests = globSync(join(root, 'packages/*/package.json'))
  const packages = manifests
    .map((file) => ({ manifest: JSON.parse(readFileSync(file, 'utf8')) as Manifest, folder: dirname(file) }))
    .filter(({ manifest }) => !manifest.private)
  const into = await packedOnce(async (into) => {
    const build = join(root, 'node_modules/.bin/tsdown')
    // Waits for all of them, so that nothing still writes into a folder when it is removed.
    await allOf(packages.map(({ folder }) => run(build, [], folder)))
    const filters = packages.flatMap(({ manifest }) => ['--filter', manifest.name])
    const output = await run('npx', ['-y', pnpm, ...filters, 'pack', '--json', '--pack-destination', into])
    writeFileSync(join(into, listing), output)
  })
  const packed = packedIn(into)
  const tarballs = packages.map(async ({ manifest, folder }): Promise<Tarball> => {
    const found = packed.find(({ name }) => name === manifest.name)
    if (!found) throw new Error(`${manifest.name} was not packed`)
    const published = JSON.parse(await readFrom(found.file, 'package.json')) as Manifest
    return { manifest, published, folder, file: found.file, paths: found.paths }
  })
  return allOf(tarballs)
}

/** pnpm's report of what it packed. */
const listing = 'packed.json'

/** The tarballs in a folder, each with the name of its package and the files in it. */
function packedIn(folder: string): readonly { name: string; file: string; paths: readonly string[] }[] {
  const packed = JSON.parse(readFileSync(join(folder, listing), 'utf8')) as readonly {
    readonly name: string
    readonly filename: string
    readonly files: readonly { readonly path: string }[]
  }[]
  return packed.map(({ name, filename, files }) => ({
    name,
    file: join(folder, basename(filename)),
    paths: files.map(({ path }) => path),
  }))
}

/** The tarball of a package, if all packages were packed after the last change to any of their files. */
export function packedAlready(name: string): string | undefined {
  const folder = keptFolder()
  return folder === undefined ? undefined : packedIn(folder).find((each) => each.name === name)?.file
}

/** The text of a file in a tarball. */
export const readFrom = (tarball: string, path: string): Promise<string> =>
  run('tar', ['-xzOf', tarball, `package/${path}`])

/** The version that the scripts of the workspace call. */
const pnpm = /pnpm@[\d.]+/.exec(readFileSync(join(root, 'package.json'), 'utf8'))?.[0] ?? 'pnpm'

/** Waits for all tasks, and then fails with the problems of all that failed. */
export async function allOf<T>(tasks: readonly Promise<T>[]): Promise<readonly T[]> {
  const results = await Promise.allSettled(tasks)
  const problems = results.flatMap((result) => (result.status === 'rejected' ? [(result.reason as Error).message] : []))
  if (problems.length > 0) throw new Error(problems.join('\n\n'))
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

/** Quiet unless it fails. */
export async function run(command: string, args: readonly string[], cwd = root): Promise<string> {
  try {
    return (await promisify(execFile)(command, args, { cwd, maxBuffer: 16_777_216 })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    const output = stdout || stderr ? `${stdout ?? ''}${stderr ?? ''}` : (error as Error).message
    throw new Error(`${command} ${args.join(' ')} failed in ${cwd}\n${output}`, { cause: error })
  }
}
