import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Installation } from '../../../test/runtimes/installed-packages.ts'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** How a user's project is set up. */
export interface NestVersion {
  readonly nest: '10' | '11' | '12'
  readonly format: 'cjs' | 'esm'
}

/** A compiled Nest project outside the workspace. */
export interface NestProject extends AsyncDisposable {
  readonly folder: string
  /** The file that starts the application. */
  readonly main: string
}

/** Where the workspace keeps the packages of a Nest version. */
const homes = { '10': here('nest-10'), '11': here('nest-11'), '12': here('..') } as const
/** The compiler that new projects of that version use, or one close to it. */
const compilers = {
  '10': here('../../../test/node_modules/typescript-5.4'),
  '11': here('../../../test/node_modules/typescript-5.9'),
  '12': here('../../../node_modules/typescript'),
} as const

const others = ['ioredis', 'reflect-metadata', 'rxjs']

/**
 * Compiles files as in a project of that version.
 *
 * @param installed our packages, as they are published
 * @param sources   the files by their paths within `src`
 */
export async function nestProject(
  installed: Installation,
  { nest, format }: NestVersion,
  sources: Readonly<Record<string, string>>,
): Promise<NestProject> {
  const folder = mkdtempSync(join(tmpdir(), `leasehold-nest-${nest}-${format}-`))
  const modules = join(folder, 'node_modules')
  const remove = async (): Promise<void> => rmSync(folder, { recursive: true })
  try {
    // A copy: a link would resolve Nest from its own location.
    cpSync(join(installed.folder, 'node_modules/@leasehold'), join(modules, '@leasehold'), { recursive: true })
    const ofNest = readdirSync(join(homes[nest], 'node_modules/@nestjs')).map((name) => `@nestjs/${name}`)
    for (const name of [...ofNest, ...others]) link(join(homes[nest], 'node_modules', name), join(modules, name))
    link(here('../node_modules/@types/node'), join(modules, '@types/node'))
    for (const [path, source] of Object.entries(sources)) write(join(folder, 'src', path), source)
    write(join(folder, 'package.json'), JSON.stringify({ type: format === 'cjs' ? 'commonjs' : 'module' }))
    write(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: compilerOptions(nest, format) }))
    await promisify(execFile)(process.execPath, [join(compilers[nest], 'bin/tsc'), '--pretty', 'false'], {
      cwd: folder,
      timeout: 50_000,
    })
  } catch (error) {
    await remove()
    const { stdout, message } = error as { stdout?: string; message: string }
    throw new Error(`${message}\n${stdout ?? ''}`, { cause: error })
  }
  return { folder, main: join(folder, 'dist/main.js'), [Symbol.asyncDispose]: remove }
}

/** As the Nest CLI sets up a project. */
const compilerOptions = (nest: NestVersion['nest'], format: NestVersion['format']) => ({
  ...(nest !== '12' && format === 'cjs'
    ? {
        module: 'commonjs',
        moduleResolution: nest === '10' ? 'node10' : 'node16',
        ...(nest === '11' && { module: 'node16' }),
      }
    : { module: 'nodenext', moduleResolution: 'nodenext' }),
  target: 'es2022',
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  strict: true,
  skipLibCheck: true,
  types: ['node'],
  rootDir: 'src',
  outDir: 'dist',
})

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(target, path)
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
