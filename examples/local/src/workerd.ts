import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'

/** A Worker in workerd, the runtime of Cloudflare. */
export interface RunningWorker extends AsyncDisposable {
  readonly url: string
}

export interface WorkerOptions {
  /** The `wrangler.jsonc` of the Worker. */
  readonly config: URL
  /** Its main file; default: the one that the configuration names. */
  readonly entry?: URL
  /** Its `env`. */
  readonly bindings: Readonly<Record<string, string>>
  /** Gets each line that it logs; default: they go to our own output. */
  readonly onLog?: (line: string) => void
}

interface WranglerConfig {
  readonly main: string
  readonly compatibility_date: string
  readonly compatibility_flags?: string[]
}

export async function startWorker({ config, entry, bindings, onLog }: WorkerOptions): Promise<RunningWorker> {
  const { main, compatibility_date, compatibility_flags = [] } = readConfig(config)
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: bundle(entry ?? new URL(main, config)),
      compatibilityDate: compatibility_date,
      compatibilityFlags: compatibility_flags,
      bindings,
      host: '127.0.0.1',
      port: 0,
      // Only Cloudflare knows these facts about a request, and Miniflare would fetch them from there.
      cf: false,
      ...(onLog && { handleStructuredLogs: ({ message }) => onLog(message) }),
    }),
  )
  const url = (await miniflare.ready).href.replace(/\/$/, '')
  return { url, [Symbol.asyncDispose]: () => miniflare.dispose() }
}

/** The comments of our configuration stand on lines of their own. */
const readConfig = (file: URL): WranglerConfig =>
  JSON.parse(readFileSync(file, 'utf8').replace(/^\s*\/\/.*$/gm, '')) as WranglerConfig

/** Bundles as wrangler does: packages resolve for `workerd`, and the runtime's own modules stay outside. Leaves no process behind. */
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
