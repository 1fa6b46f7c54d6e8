/**
 * The edge of the demo, as a process: the Hono Worker in workerd, the gateway through which it reaches Redis, and the bridge
 * through which it hears of releases.
 */

import { startBridge } from '@leasehold/example-local/bridge'
import { startGateway } from '@leasehold/example-local/gateway'
import { startWorker } from '@leasehold/example-local/workerd'

/** Settings that the servers over TCP get, too. */
const settings = ['LOCK_PREFIX', 'DATA_PREFIX', 'LOCK_TTL', 'LOCK_WAIT', 'FENCE_MEMORY', 'WORK_MS', 'LOCKS', 'COUPONS']

const config = new URL(import.meta.resolve('@leasehold/example-hono-api/wrangler.jsonc'))

const { REDIS_URL = '', SERVER_NAME = 'worker', ...env } = process.env
const ended = Promise.withResolvers<void>()
process.once('disconnect', ended.resolve)
// If workerd cannot be started, Miniflare does not reject, but writes to a closed pipe.
process.once('uncaughtException', ended.reject)

try {
  await serve()
  if (process.connected) process.disconnect()
} catch (error) {
  console.error((error as Error).message)
  process.exit(1)
}

async function serve(): Promise<void> {
  await using gateway = await startGateway(REDIS_URL)
  await using bridge = await startBridge(REDIS_URL, env['LOCK_PREFIX'])
  const bindings = {
    ...Object.fromEntries(settings.map((name) => [name, env[name] ?? ''])),
    SERVER_NAME,
    REDIS_URL: gateway.url,
    REDIS_TOKEN: gateway.token,
    BRIDGE_URL: bridge.url,
    BRIDGE_TOKEN: bridge.token,
  }
  const starting = startWorker({ config, entry: new URL('worker.ts', import.meta.url), bindings, onLog: report })
  await Promise.race([starting, ended.promise])
  await using worker = await starting
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // Miniflare listens, too. It would end the process at once and leave the other processes behind.
    process.removeAllListeners(signal)
    // Once: a second signal finds no listener, and ends the process at once.
    process.once(signal, () => ended.resolve())
  }
  console.log(
    `${SERVER_NAME} listens on ${worker.url} with Redis through ${gateway.url}, releases through ${bridge.url}`,
  )
  await ended.promise
}

/** The Worker logs the events of its locker as JSON. Anything else that it logs is for people. */
function report(line: string): void {
  if (!process.connected) return
  try {
    // If the parent is exiting, the `disconnect` event reports it.
    process.send?.(JSON.parse(line), undefined, undefined, () => undefined)
  } catch {
    console.error(line)
  }
}
