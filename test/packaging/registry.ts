import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Manifest, Tarball } from './tarballs.ts'

/**
 * A package registry on this machine: our tarballs, and the workspace's copies of other packages. Nothing comes from
 * elsewhere.
 */
export interface Registry extends AsyncDisposable {
  readonly url: string
}

/** A package in the registry, and how its tarball is sent. */
interface Entry {
  readonly manifest: Manifest
  send(response: ServerResponse): void
}

/**
 * Serves these tarballs and whatever they depend on.
 *
 * @param others packages that users have beside ours, each with the folder in which the workspace finds it
 */
export async function startRegistry(
  tarballs: readonly Tarball[],
  others: Readonly<Record<string, string>>,
): Promise<Registry> {
  const entries = new Map<string, Entry>()
  for (const { published, file } of tarballs) {
    entries.set(published.name, { manifest: published, send: (response) => response.end(readFileSync(file)) })
  }

  function add(name: string, from: string): void {
    if (entries.has(name)) return
    const folder = installed(name, from)
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
    entries.set(name, { manifest, send: (response) => sendFolder(folder, response) })
    for (const each of Object.keys(manifest.dependencies ?? {})) add(each, folder)
  }
  for (const [name, from] of Object.entries(others)) add(name, from)
  for (const { manifest, folder } of tarballs) {
    for (const name of Object.keys(manifest.dependencies ?? {})) add(name, folder)
  }

  const server = createServer((request, response) => {
    const [, name = '', isTarball] = /^\/(.+?)(\/-\.tgz)?$/.exec(decodeURIComponent(request.url ?? '')) ?? []
    const entry = entries.get(name)
    if (!entry) return response.writeHead(404).end('{}')
    if (isTarball) return entry.send(response)
    const { version } = entry.manifest
    const dist = { tarball: `${url}/${name}/-.tgz` }
    const packument = {
      name,
      'dist-tags': { latest: version },
      versions: { [version]: { ...entry.manifest, scripts: {}, dist } },
    }
    return response.setHeader('Content-Type', 'application/json').end(JSON.stringify(packument))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The location of a package that is imported from within a folder. */
function installed(name: string, from: string): string {
  const folder = join(from, 'node_modules', name)
  if (existsSync(folder)) return realpathSync(folder)
  if (dirname(from) === from) throw new Error(`The workspace has no ${name}`)
  return installed(name, dirname(from))
}

/** Sends a copy: equal files of the workspace are hard links, which tar would pack as links, and npm leaves links out. */
function sendFolder(folder: string, response: ServerResponse): void {
  const copy = mkdtempSync(join(tmpdir(), 'leasehold-package-'))
  cpSync(folder, join(copy, 'package'), { recursive: true, filter: (path) => basename(path) !== 'node_modules' })
  const args = ['-czf', '-', '-C', copy, 'package']
  execFile('tar', args, { encoding: 'buffer', maxBuffer: 67_108_864 }, (error, tarball) => {
    rmSync(copy, { recursive: true })
    if (error) response.destroy(error)
    else response.end(tarball)
  })
}
