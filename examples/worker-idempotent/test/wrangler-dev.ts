import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('..', import.meta.url))

/** `wrangler dev` as a user starts it, but at a free port, with variables of our own, and without the network. */
export async function wranglerDev(
  vars: Readonly<Record<string, string>>,
): Promise<AsyncDisposable & { readonly url: string }> {
  const home = mkdtempSync(join(tmpdir(), 'leasehold-wrangler-'))
  const args = Object.entries(vars).flatMap(([name, value]) => ['--var', `${name}:${value}`])
  const child = spawn(
    join(folder, 'node_modules/.bin/wrangler'),
    ['dev', '--port', '0', '--inspector-port', '0', '--persist-to', home, ...args],
    {
      cwd: folder,
      env: {
        // The same Node as ours.
        PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
        // By this, whatever a test run started is found when it ends.
        LEASEHOLD_TEST_RUN: process.env['LEASEHOLD_TEST_RUN'],
        HOME: home,
        WRANGLER_SEND_METRICS: 'false',
        CLOUDFLARE_CF_FETCH_ENABLED: 'false',
        CI: '1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const ended = once(child, 'exit')
  let output = ''
  const ready = new Promise<string>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        output += `${line}\n`
        const url = /Ready on (http:\/\/\S+)/.exec(line)?.[1]
        if (url !== undefined) resolve(url)
      })
    }
  })
  return {
    url: await Promise.race([
      ready,
      ended.then(() => Promise.reject(new Error(`wrangler dev ended before it was ready:\n${output}`))),
    ]),
    async [Symbol.asyncDispose]() {
      child.kill()
      await ended
      rmSync(home, { recursive: true, force: true })
    },
  }
}
