import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type UserConfig } from 'tsdown'

/** The sources that `exports` or `imports` of a package.json name, whatever the conditions. */
const sources = (entries: unknown): readonly string[] =>
  typeof entries === 'string' ? [entries] : Object.values(entries as object).flatMap(sources)

/**
 * The build every package shares: each source file becomes one file of the same name, so that what a user does not
 * import is never loaded, bundlers see the real modules, and a stack trace names them.
 */
export function packageBuild(folder: string): UserConfig {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    exports: unknown
    imports?: unknown
  }
  return defineConfig({
    cwd: folder,
    entry: [...new Set([...sources(manifest.exports), ...sources(manifest.imports ?? {})])],
    root: 'src',
    format: 'esm',
    target: 'es2022',
    // No runtime is favoured, and `.js` rather than `.mjs`.
    platform: 'neutral',
    unbundle: true,
    // From the sources alone, which `isolatedDeclarations` makes possible.
    dts: { generator: 'oxc' },
    // What `imports` names is chosen by the reader's conditions, and not here by ours.
    deps: { neverBundle: [/^#/] },
    logLevel: 'warn',
  })
}
