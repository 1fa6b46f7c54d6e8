import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { packedAlready } from '../packaging/tarballs.ts'

interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly publishConfig: { readonly exports: object }
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** A folder outside the workspace in which programs find our packages as users do. */
export interface Installation extends AsyncDisposable {
  readonly folder: string
  /** The path of a file of a package. */
  file(packageName: string, path: string): string
  /** Compiles a program of `programs/`, for the oldest runtime; returns its path. */
  program(name: string): Promise<string>
}

/** Builds the packages of these folders as they are published, and installs them with their dependencies. */
export async function installPackages(...names: readonly string[]): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-runtimes-'))
  const modules = join(folder, 'node_modules')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const remove = async (): Promise<void> => rmSync(folder, { recursive: true })
  try {
    await Promise.all(names.map((name) => install(here(`../../packages/${name}`), modules)))
  } catch (error) {
    await remove()
    throw error
  }
  return {
    folder,
    file: (packageName, path) => join(modules, packageName, path),
    async program(name) {
      const outfile = join(folder, `${name}.js`)
      const options = { bundle: true, packages: 'external', format: 'esm', target: 'es2022' } as const
      await build({ entryPoints: [here(`programs/${name}.ts`)], outfile, ...options })
      return outfile
    },
    [Symbol.asyncDispose]: remove,
  }
}

async function install(source: string, modules: string): Promise<void> {
  const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as Manifest
  const installed = join(modules, manifest.name)
  mkdirSync(installed, { recursive: true })
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })) {
    const link = join(modules, name)
    mkdirSync(dirname(link), { recursive: true })
    // Our own packages are built instead.
    if (!name.startsWith('@leasehold/') && !existsSync(link)) symlinkSync(join(source, 'node_modules', name), link)
  }
  const run = promisify(execFile)
  const tarball = packedAlready(manifest.name)
  if (tarball !== undefined) {
    await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
    return
  }
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ ...manifest, ...manifest.publishConfig }))
  await run(here('../../node_modules/.bin/tsdown'), ['--out-dir', join(installed, 'dist')], { cwd: source })
}
