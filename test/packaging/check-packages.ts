/**
 * Builds and packs each package as it would be published, and checks the tarballs as their readers would: publint and
 * attw read them, and a program outside of the workspace type-checks and imports every entry.
 */

import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly exports: Readonly<Record<string, unknown>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const consumer = mkdtempSync(join(tmpdir(), 'leasehold-consumer-'))
const folders = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name))

try {
  // All of them, so that nobody still writes into the folder when it is removed.
  const results = await Promise.allSettled(folders.map(publish))
  const problems = results.flatMap((result) => (result.status === 'rejected' ? [(result.reason as Error).message] : []))
  if (problems.length > 0) throw new Error(problems.join('\n\n'))
  const published = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  await consume(published)
  console.log(`${published.length} packages are ready to publish: ${published.map(({ name }) => name).join(', ')}`)
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  rmSync(consumer, { recursive: true })
}

/** Makes the tarball, checks it and installs it; answers nothing for a private package. */
async function publish(folder: string): Promise<readonly Manifest[]> {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  if (manifest.private) return []
  await run('tsdown', [], folder)
  const output = await run('pnpm', ['pack', '--json', '--pack-destination', consumer], folder)
  const { filename, files } = JSON.parse(output) as { filename: string; files: readonly { path: string }[] }
  for (const path of ['README.md', 'LICENSE']) {
    if (!files.some((file) => file.path === path)) throw new Error(`The tarball of ${manifest.name} has no ${path}`)
  }
  await run('publint', ['--strict', filename])
  await run('attw', ['--profile', 'esm-only', filename])
  await unpack(manifest, folder, filename)
  return [manifest]
}

/** Puts a tarball where a package manager would, with the peers that its own folder has. */
async function unpack(manifest: Manifest, folder: string, tarball: string): Promise<void> {
  const installed = join(consumer, 'node_modules', manifest.name)
  mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
  for (const peer of Object.keys(manifest.peerDependencies ?? {})) {
    const link = join(consumer, 'node_modules', peer)
    mkdirSync(dirname(link), { recursive: true })
    if (!existsSync(link)) symlinkSync(join(folder, 'node_modules', peer), link)
  }
}

async function consume(manifests: readonly Manifest[]): Promise<void> {
  const entries = manifests.flatMap(({ name, exports }) => Object.keys(exports).map((path) => name + path.slice(1)))
  const program = entries
    .map((entry, index) => `import * as entry${index} from '${entry}'\nvoid entry${index}\n`)
    .join('')
  // Without skipLibCheck: our declarations are what is checked.
  const lib = ['ES2022', 'ESNext.Disposable']
  const compilerOptions = { module: 'NodeNext', target: 'ES2022', lib, types: ['node'], strict: true, noEmit: true }
  writeFileSync(join(consumer, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(consumer, 'program.ts'), program)
  writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
  mkdirSync(join(consumer, 'node_modules/@types'), { recursive: true })
  symlinkSync(join(root, 'node_modules/@types/node'), join(consumer, 'node_modules/@types/node'))
  await run('tsc', ['-p', consumer])
  for (const condition of ['default', 'workerd', 'edge-light']) {
    await run(process.execPath, ['--conditions', condition, join(consumer, 'program.ts')])
  }
}

/** Quiet unless it fails. */
async function run(command: string, args: readonly string[], cwd = root): Promise<string> {
  try {
    return (await promisify(execFile)(command, args, { cwd })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    const output = stdout || stderr ? `${stdout ?? ''}${stderr ?? ''}` : (error as Error).message
    throw new Error(`${command} ${args.join(' ')} failed in ${cwd}\n${output}`, { cause: error })
  }
}
