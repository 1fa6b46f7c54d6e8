import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { environment, startProcess } from './local-process.ts'

/** Wrangler with a separate home folder and without the network: it sends no telemetry. */
function wranglerIn(folder: URL) {
  const home = mkdtempSync(join(tmpdir(), 'leasehold-wrangler-'))
  const env = environment({ HOME: home, WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false', CI: '1' })
  const command = fileURLToPath(new URL('node_modules/.bin/wrangler', folder))
  return { command, env, home, removeHome: () => rmSync(home, { recursive: true, force: true }) }
}

/** `wrangler dev` as a user starts it, but on a free port and with the given variables. */
export async function wranglerDev(
  folder: URL,
  vars: Readonly<Record<string, string>>,
): Promise<AsyncDisposable & { readonly url: string }> {
  const { command, env, home, removeHome } = wranglerIn(folder)
  const settings = Object.entries(vars).flatMap(([name, value]) => ['--var', `${name}:${value}`])
  const args = ['dev', '--port', '0', '--inspector-port', '0', '--persist-to', home, ...settings]
  await using started = new AsyncDisposableStack()
  started.defer(removeHome)
  const { running } = await startProcess(command, args, { cwd: folder, env }, { greeting: /Ready on (http:\/\/\S+)/ })
  started.use(running)
  const all = started.move()
  return { url: running.url, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

/** The size of a Worker as it is sent to Cloudflare, compressed, in KiB. The free plan has room for 3,072. */
export async function deploySizeKiB(folder: URL): Promise<number> {
  const { command, env, home, removeHome } = wranglerIn(folder)
  const args = ['deploy', '--dry-run', '--outdir', join(home, 'out')]
  const { stdout } = await promisify(execFile)(command, args, { cwd: folder, env }).finally(removeHome)
  const [, gzip] = /Total Upload: .* \/ gzip: ([\d.]+) KiB/.exec(stdout) ?? []
  if (gzip === undefined) throw new Error(`wrangler deploy did not print a size:\n${stdout}`)
  return Number(gzip)
}
