import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'

/** The Worker in workerd, the runtime of Cloudflare. */
export interface RunningWorker extends AsyncDisposable {
  readonly url: string
}

const folder = new URL('..', import.meta.url)
const [, compatibilityDate = ''] = /"compatibility_date": "(.*)"/.exec(read('wrangler.jsonc')) ?? []

/** @param bindings what the Worker finds in its `env` */
export async function startWorker(bindings: Readonly<Record<string, string>>): Promise<RunningWorker> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: bundle('src/worker.ts'),
      compatibilityDate,
      bindings,
      host: '127.0.0.1',
      port: 0,
      // Facts about a request that only Cloudflare knows, which would be fetched from there.
      cf: false,
    }),
  )
  const url = (await miniflare.ready).href.replace(/\/$/, '')
  return { url, [Symbol.asyncDispose]: () => miniflare.dispose() }
}

/** As wrangler does it: the packages answer to `workerd`, and what the runtime has itself is left out. No process stays. */
function bundle(entry: string): string {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL(entry, folder))],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*'],
  })
  return outputFiles[0]?.text ?? ''
}

function read(file: string): string {
  return readFileSync(new URL(file, folder), 'utf8')
}
