import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startRegistry } from './registry.ts'
import { packAll, run } from './tarballs.ts'

/** The folder of the tests' own package, which has the dependencies that users have. */
export const testFolder: string = fileURLToPath(new URL('..', import.meta.url))

/** A folder outside the workspace, in which our packages are installed as users install them. */
export interface Installation extends AsyncDisposable {
  readonly folder: string
  /** Creates a file, and the folders in its path; returns its path. */
  write(path: string, text: string): string
}

/** Packs all packages and has npm install them, and the clients they are used with, from a registry on this machine. */
export async function installAll(): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-installed-'))
  const remove = async (): Promise<void> => rmSync(folder, { recursive: true })
  const write = (path: string, text: string): string => {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    return file
  }
  try {
    const tarballs = await packAll()
    const clients = ['hono', 'ioredis', 'redis', '@upstash/redis']
    await using registry = await startRegistry(tarballs, Object.fromEntries(clients.map((name) => [name, testFolder])))
    write('package.json', '{ "private": true }')
    const where = ['--registry', registry.url, '--cache', join(folder, 'npm-cache')]
    // The frameworks that some of our packages target are not installed: they need several versions of a package, and
    // this registry has one.
    const peers = '--legacy-peer-deps'
    const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--ignore-scripts']
    const names = tarballs.map(({ manifest }) => manifest.name)
    await run('npm', ['install', ...where, ...quiet, peers, ...names, ...clients], folder)
    // Too large to be sent through the registry, and only one entry of the testkit needs it.
    symlinkSync(join(testFolder, 'node_modules/vitest'), join(folder, 'node_modules/vitest'))
  } catch (error) {
    await remove()
    throw error
  }
  return { folder, write, [Symbol.asyncDispose]: remove }
}
