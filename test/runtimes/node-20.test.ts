import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis } from '@leasehold/testkit/redis'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** A Node 20 of this system. Those of packages are newer, and would not show a syntax that 20 does not know. */
async function findNode20(): Promise<string | undefined> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))
  for (const path of folders.map((folder) => join(folder, 'node'))) {
    const version = await run(path, ['--version']).catch(() => undefined)
    if (version?.stdout.startsWith('v20.')) return path
  }
  return undefined
}

/** Builds a package as it is published, into a folder where a program would find it. */
async function install(modules: string, name: string): Promise<void> {
  const folder = here(`../../packages/${name}`)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string
    readonly publishConfig: { readonly exports: object }
  }
  const installed = join(modules, manifest.name)
  mkdirSync(installed, { recursive: true })
  const { exports } = manifest.publishConfig
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ name: manifest.name, type: 'module', exports }))
  await run(here('../../node_modules/.bin/tsdown'), ['--out-dir', join(installed, 'dist')], { cwd: folder })
}

test('the published build holds, renews, hands on and loses locks on Node 20', async (context) => {
  const node = await findNode20()
  if (!node) return context.skip('This system has no Node 20')
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-node-20-'))
  await using redis = await startRedis()
  try {
    const modules = join(folder, 'node_modules')
    await Promise.all(['core', 'ioredis'].map((name) => install(modules, name)))
    symlinkSync(here('../node_modules/ioredis'), join(modules, 'ioredis'))
    const program = join(folder, 'server-story.mjs')
    await build({ entryPoints: [here('programs/server-story.ts')], outfile: program, format: 'esm', target: 'es2022' })
    const { stdout, stderr } = await run(node, [program, redis.url])
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({
      node: '20',
      refused: null,
      released: 'released',
      risen: true,
      holder: 'server',
      lost: 'gone',
      disposable: true,
      embedded: true,
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}, 60_000)
