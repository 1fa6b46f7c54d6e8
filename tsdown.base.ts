import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type UserConfig } from 'tsdown'

/** The files that entries of `exports` or `imports` name, whatever the conditions. */
const files = (entries: unknown): readonly string[] =>
  typeof entries === 'string' ? [entries] : Object.values(entries ?? {}).flatMap(files)

/**
 * The build every package shares: each source file becomes one file of the same name, so that what a user does not
 * import is never loaded, bundlers see the real modules, and a stack trace names them. All of it is built as ESM, and as
 * CommonJS what `publishConfig` offers as `.cjs`.
 *
 * @param programs what `bin` names, ESM only
 */
export function packageBuild(folder: string, programs: readonly string[] = []): UserConfig[] {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    exports: unknown
    imports?: unknown
    publishConfig: { exports: unknown; imports?: unknown }
  }
  const { exports, imports } = manifest.publishConfig
  const entry = new Set([...files(manifest.exports), ...files(manifest.imports)])
  const required = new Set(files([exports, imports]).filter((file) => file.endsWith('.cjs')))
  const asCommonJs = [...entry].filter((source) =>
    required.has(source.replace('./src/', './dist/').replace(/\.ts$/, '.cjs')),
  )
  const settings: UserConfig = {
    cwd: folder,
    root: 'src',
    target: 'es2022',
    // No runtime is favoured, and `.js` rather than `.mjs`.
    platform: 'neutral',
    unbundle: true,
    // From the sources alone, which `isolatedDeclarations` makes possible.
    dts: { generator: 'oxc', entry: files(manifest.exports).map((source) => source.slice(2)) },
    // What `imports` names is chosen by the reader's conditions, and not here by ours.
    deps: { neverBundle: [/^#/, /^node:/, /^cloudflare:/] },
    logLevel: 'warn',
  }
  return defineConfig([
    { ...settings, format: 'esm', entry: [...entry, ...programs] },
    { ...settings, format: 'cjs', entry: asCommonJs, outputOptions: { strict: true } },
  ])
}
