import { build } from 'esbuild'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'

/**
 * Runs the JavaScript of a Worker in workerd, and returns its response.
 *
 * @param objects its Durable Objects: the class name by binding name
 */
export async function inWorkerd(file: string, objects: Readonly<Record<string, string>>): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    format: 'esm',
    conditions: ['workerd'],
    external: ['cloudflare:workers'],
  })
  const runtime = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: outputFiles[0]?.text ?? '',
      compatibilityDate: '2026-11-02',
      durableObjects: Object.fromEntries(
        Object.entries(objects).map(([name, className]) => [name, { className, useSQLite: true }]),
      ),
      cf: false,
    }),
  )
  try {
    return await (await runtime.dispatchFetch('http://worker.example/')).text()
  } finally {
    await runtime.dispose()
  }
}
