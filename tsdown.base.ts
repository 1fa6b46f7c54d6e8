import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type UserConfig } from 'tsdown'

/** The sources that `exports` of a package.json names, whatever the conditions. */
const sources = (exports: unknown): readonly string[] =>
  typeof exports === 'string' ? [exports] : Object.values(exports as object).flatMap(sources)

/**
 * The build every package shares: each source file becomes one file of the same name, so that what a user does not
 * import is never loaded, bundlers see the real modules, and a stack trace names them.
 */
export function packageBuild(folder: string): UserConfig {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name: string; exports: unknown }
  return defineConfig({
    cwd: folder,
    entry: [...new Set(sources(manifest.exports))],
    root: 'src',
    format: 'esm',
    target: 'es2022',
    // No runtime is favoured, and `.js` rather than `.mjs`.
    platform: 'neutral',
    unbundle: true,
    // From the sources alone, which `isolatedDeclarations` makes possible.
    dts: { generator: 'oxc' },
    // A package's import of itself stays one, so that the reader's export conditions decide what it gets.
    deps: { neverBundle: [new RegExp(`^${manifest.name}(/|$)`)] },
    logLevel: 'warn',
  })
}
