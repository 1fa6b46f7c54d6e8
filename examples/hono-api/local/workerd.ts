import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'

/** A Worker in workerd, the runtime of Cloudflare. */
export interface RunningWorker extends AsyncDisposable {
  readonly url: string
}

export interface WorkerOptions {
  /** Its main file; default: the Worker of this example. */
  readonly entry?: URL
  /** What it finds in its `env`. */
  readonly bindings: Readonly<Record<string, string>>
  /** Gets each line that it logs; default: they go where ours go. */
  readonly onLog?: (line: string) => void
}

const standard = new URL('../src/worker.ts', import.meta.url)

/** The settings of `wrangler.jsonc`, whose comments stand on lines of their own. */
const settings = JSON.parse(
  readFileSync(new URL('../wrangler.jsonc', import.meta.url), 'utf8').replace(/^\s*\/\/.*$/gm, ''),
) as { readonly compatibility_date: string; readonly compatibility_flags: string[] }

export async function startWorker({ entry = standard, bindings, onLog }: WorkerOptions): Promise<RunningWorker> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: bundle(entry),
      compatibilityDate: settings.compatibility_date,
      compatibilityFlags: settings.compatibility_flags,
      bindings,
      host: '127.0.0.1',
      port: 0,
      // Facts about a request that only Cloudflare knows, which would be fetched from there.
      cf: false,
      ...(onLog && { handleStructuredLogs: ({ message }) => onLog(message) }),
    }),
  )
  const url = (await miniflare.ready).href.replace(/\/$/, '')
  return { url, [Symbol.asyncDispose]: () => miniflare.dispose() }
}

/** As wrangler does it: the packages answer to `workerd`, and what the runtime has itself is left out. No process stays. */
function bundle(entry: URL): string {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*'],
  })
  return outputFiles[0]?.text ?? ''
}
