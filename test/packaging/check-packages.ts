/**
 * Builds and packs each package as it would be published, and checks the tarballs as their users would: publint and
 * attw read the manifests and types, and we check the contents. `set-ups.test.ts` installs and uses them.
 */

import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { allOf, esmOnly, packAll, readFrom, run, type Tarball } from './tarballs.ts'

// A `.test.ts` belongs to the user: whoever calls the conformance suite does so in a test.
const source = /(?<!\.d|\.test)\.ts\b/

const isUnresolvableType = (line: string): boolean => /["'`]#|\/src\//.test(line) || source.test(line)

/** A comment that names a source file, except the one with which the build begins each module. */
const isUnresolvableComment = (line: string): boolean =>
  /^\s*(\/\/|\/?\*)/.test(line) && !/^\/\/(#region)? ?src\//.test(line) && source.test(line)

try {
  const tarballs = await packAll()
  await allOf(tarballs.flatMap((tarball) => [checkFiles(tarball), checkTypes(tarball), lint(tarball)]))
  const names = tarballs.map(({ manifest }) => manifest.name)
  console.log(`${names.length} packages are ready to publish: ${names.join(', ')}`)
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}

/** A tarball holds the manifest, the license, the build output, the README and what it links to, and nothing else. */
async function checkFiles({ manifest, folder: from, published, file, paths }: Tarball): Promise<void> {
  const linked = linksOf(await readFrom(file, 'README.md'))
    .filter((link) => !/^(https:|#)/.test(link))
    .map((link) => posix.normalize(link.replace(/#.*/, '')))
  const needed = ['LICENSE', 'README.md', 'package.json', ...linked]
  const named = Array.from(JSON.stringify(published).matchAll(/"\.\/(dist\/[^"]+)"/g), ([, path = '']) => path)
  const missing = [...needed, ...named].filter((path) => !paths.includes(path))
  if (missing.length > 0) throw new Error(`${manifest.name} names, and lacks: ${missing.join(', ')}`)
  const built = /^dist\/.*\.(c?js|d\.c?ts)$/
  const surplus = paths.filter((path) => !built.test(path) && !needed.includes(path))
  if (surplus.length > 0) throw new Error(`${manifest.name} would publish ${surplus.join(', ')}`)

  for (const path of paths.filter((each) => built.test(each))) {
    const isUnresolvable = /\.d\.c?ts$/.test(path) ? isUnresolvableType : isUnresolvableComment
    const line = (await readFile(join(from, path), 'utf8')).split('\n').find(isUnresolvable)
    if (line) throw new Error(`${manifest.name}: ${path} names what is not published: ${line.trim()}`)
  }
}

function linksOf(markdown: string): readonly string[] {
  return Array.from(markdown.matchAll(/\]\(([^)\s]+)\)/g), ([, link = '']) => link)
}

async function lint({ file }: Tarball): Promise<void> {
  await run('publint', ['--strict', file])
}

/** Every entry resolves to its types with each resolution mode of TypeScript, `node10` and `require` included. */
async function checkTypes({ manifest, file }: Tarball): Promise<void> {
  const entries = Object.keys(manifest.exports)
  const onlyEsm = entries.filter((entry) => posix.join(manifest.name, entry) in esmOnly)
  const both = entries.filter((entry) => !onlyEsm.includes(entry))
  if (both.length > 0) await run('attw', [file, '--entrypoints', ...both])
  if (onlyEsm.length > 0) await run('attw', [file, '--profile', 'esm-only', '--entrypoints', ...onlyEsm])
}
