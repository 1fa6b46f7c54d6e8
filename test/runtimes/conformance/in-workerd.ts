import { convertV4MiniflareOptions, Miniflare } from 'miniflare'
import { needsNode, workerOf } from './bundle.ts'
import type { ClaimResult } from './claim-runner.ts'
import type { Client } from './clients.ts'
import type { Servers } from './declare.ts'

/**
 * Runs the claims about a client in workerd, in one request. Rejects on an uncaught error, and on anything in the log.
 */
export async function runInWorkerd(
  client: Client,
  servers: Servers | undefined,
  signal: AbortSignal,
): Promise<readonly ClaimResult[]> {
  const complaints: string[] = []
  const runtime = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: await workerOf(client),
      compatibilityDate: '2026-11-02',
      compatibilityFlags: [needsNode(client.family) ? 'nodejs_compat' : 'no_nodejs_compat'],
      cf: false,
      handleStructuredLogs: ({ level, message }) => complaints.push(`${level}: ${message}`),
      handleUncaughtError: (error) => complaints.push(`uncaught: ${error.message}`),
    }),
  )
  try {
    await runtime.ready
    const request = { method: 'POST', body: JSON.stringify(servers ?? {}), signal }
    const response = await runtime.dispatchFetch('http://worker.example', request)
    const text = await response.text()
    if (!response.ok || complaints.length > 0) throw new Error([text, ...complaints].join('\n').slice(0, 5_000))
    return JSON.parse(text) as readonly ClaimResult[]
  } finally {
    await runtime.dispose()
  }
}
