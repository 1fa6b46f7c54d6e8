import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'
import { unstable_getMiniflareWorkerOptions as optionsFrom } from 'wrangler'

/** A Worker in workerd, the runtime of Cloudflare. */
export interface RunningWorker extends AsyncDisposable {
  readonly url: string
  /** Calls the handler as a cron trigger does, and resolves when it has ended. */
  trigger(cron: string): Promise<void>
  /**
   * Delivers messages as a queue does, and resolves with how many the consumer acknowledged, and how many it wants
   * again.
   */
  deliver(queue: string, ...bodies: readonly unknown[]): Promise<{ readonly taken: number; readonly again: number }>
}

export interface WorkerOptions {
  /** The `wrangler.jsonc` of the Worker. The Worker has its objects, queues and variables, as on Cloudflare. */
  readonly config: URL
  /** Its main file; default: the one that the configuration names. */
  readonly entry?: URL
  /** What `env` has instead of, or in addition to, the variables of the configuration. */
  readonly bindings: Readonly<Record<string, string>>
  /** Called with each line that the Worker logs; default: lines go to this process's output. */
  readonly onLog?: (line: string) => void
}

/** What Miniflare's types lack, because they describe a Worker by Cloudflare's types, which are not installed. */
interface Handlers {
  scheduled(controller: { readonly cron: string }): Promise<unknown>
  queue(
    name: string,
    messages: readonly object[],
  ): Promise<{ readonly explicitAcks: readonly string[]; readonly retryMessages: readonly object[] }>
}

export async function startWorker({ config, entry, bindings, onLog }: WorkerOptions): Promise<RunningWorker> {
  const { workerOptions, main = '' } = optionsFrom(fileURLToPath(config))
  // The code is bundled here, so no module rules are needed.
  const { modulesRules: _, ...options } = workerOptions
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      ...options,
      modules: true,
      script: bundle(entry ? fileURLToPath(entry) : main),
      bindings,
      host: '127.0.0.1',
      port: 0,
      // Only Cloudflare has these properties of a request, and Miniflare would fetch them from there.
      cf: false,
      ...(onLog && { handleStructuredLogs: ({ message }) => onLog(message) }),
    }),
  )
  const handlers = async (): Promise<Handlers> => (await miniflare.getWorker()) as unknown as Handlers
  const url = (await miniflare.ready).href.replace(/\/$/, '')
  return {
    url,
    async trigger(cron) {
      await (await handlers()).scheduled({ cron })
    },
    async deliver(queue, ...bodies) {
      const messages = bodies.map((body, id) => ({ id: String(id), timestamp: new Date(), attempts: 1, body }))
      const { explicitAcks, retryMessages } = await (await handlers()).queue(queue, messages)
      return { taken: explicitAcks.length, again: retryMessages.length }
    },
    [Symbol.asyncDispose]: () => miniflare.dispose(),
  }
}

/**
 * Bundles as wrangler does: packages resolve for `workerd`, and the runtime's own modules stay external. Leaves no
 * process behind.
 */
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
