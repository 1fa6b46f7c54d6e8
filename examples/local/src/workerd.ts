import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'
import { unstable_getMiniflareWorkerOptions as optionsFrom } from 'wrangler'

/** A Worker in workerd, the runtime of Cloudflare. */
export interface RunningWorker extends AsyncDisposable {
  readonly url: string
  /** Does what a cron trigger does, and resolves when its handler has ended. */
  trigger(cron: string): Promise<void>
}

export interface WorkerOptions {
  /** The `wrangler.jsonc` of the Worker. Its objects, queues and variables are there as they are on Cloudflare. */
  readonly config: URL
  /** Its main file; default: the one that the configuration names. */
  readonly entry?: URL
  /** What its `env` has in place of, or beside, the variables of the configuration. */
  readonly bindings: Readonly<Record<string, string>>
  /** Gets each line that it logs; default: they go to our own output. */
  readonly onLog?: (line: string) => void
}

/** What Miniflare's types lack, because they know a Worker by Cloudflare's types, which are not here. */
interface Scheduled {
  scheduled(controller: { readonly cron: string }): Promise<unknown>
}

export async function startWorker({ config, entry, bindings, onLog }: WorkerOptions): Promise<RunningWorker> {
  const { workerOptions, main = '' } = optionsFrom(fileURLToPath(config))
  // What is bundled here needs no rules.
  const { modulesRules: _, ...options } = workerOptions
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      ...options,
      modules: true,
      script: bundle(entry ? fileURLToPath(entry) : main),
      bindings,
      host: '127.0.0.1',
      port: 0,
      // Only Cloudflare knows these facts about a request, and Miniflare would fetch them from there.
      cf: false,
      ...(onLog && { handleStructuredLogs: ({ message }) => onLog(message) }),
    }),
  )
  const url = (await miniflare.ready).href.replace(/\/$/, '')
  return {
    url,
    async trigger(cron) {
      const worker = (await miniflare.getWorker()) as unknown as Scheduled
      await worker.scheduled({ cron })
    },
    [Symbol.asyncDispose]: () => miniflare.dispose(),
  }
}

/** Bundles as wrangler does: packages resolve for `workerd`, and the runtime's own modules stay outside. Leaves no process behind. */
function bundle(entry: string): string {
  const { outputFiles } = buildSync({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*'],
  })
  return outputFiles[0]?.text ?? ''
}
