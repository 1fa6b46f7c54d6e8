/* A Worker with the bridge, as a user would write it, plus what tests need. */

import { createLocker } from '@leasehold/core'
import { fifo } from '@leasehold/core/queue'
import { fetchStore } from '@leasehold/upstash'
import { bridgeNotifier } from '../../bridge-client/src/index.ts'
import { type BridgeNamespace, bridgeHandler, bridgeObject, bridgeStub } from '../src/durable-object/index.ts'

interface Env {
  readonly BRIDGE: BridgeNamespace
  readonly REDIS_URL: string
  readonly BRIDGE_TOKEN: string
  readonly SETTINGS: {
    readonly prefix?: string
    readonly lingerMs?: number
    readonly heartbeatMs?: number
    readonly limits?: { readonly total: number }
  }
  readonly GATEWAY: { readonly url: string; readonly token: string }
}

/** How many waits and streams are open in the object, which runs in the same isolate. */
const open = { waits: 0, streams: 0 }

export class Bridge extends bridgeObject((env: Env) => ({
  redisUrl: env.REDIS_URL,
  auth: { tokens: [env.BRIDGE_TOKEN] },
  ...env.SETTINGS,
  metrics: {
    page: async () => ({ contentType: 'application/json', text: JSON.stringify(open) }),
    token: `metrics-${env.BRIDGE_TOKEN}`,
  },
  onEvent: (event) => {
    if (event.type === 'waits' || event.type === 'streams') open[event.type] = event.open
  },
})) {
  readonly #state: { abort(reason: string): void }

  constructor(state: { abort(reason: string): void }, env: Env) {
    super(state, env)
    this.#state = state
  }

  override fetch(request: Request): Promise<Response> {
    // Cloudflare does this when the Worker is redeployed.
    if (request.headers.has('test-replace')) this.#state.abort('The object is replaced')
    if (request.headers.has('test-mistake')) throw new Error('A mistake in the object')
    return super.fetch(request)
  }
}

const bridge = bridgeHandler((env: Env) => env.BRIDGE)

/** Waits for a lock within the Worker itself, woken by its own object. */
async function lock(key: string, isQueued: boolean, { GATEWAY, BRIDGE, BRIDGE_TOKEN }: Env): Promise<Response> {
  const notifier = bridgeNotifier({
    url: 'https://bridge.internal',
    token: BRIDGE_TOKEN,
    fetch: (url, request) => bridgeStub(BRIDGE).fetch(url, request),
  })
  // The delay is so long that the waiter succeeds only if it is woken.
  const locks = createLocker({ store: fetchStore(GATEWAY), notifier, strategy: { delayMs: () => 3_600_000 } })
  await using lease = await locks.acquire(key, { wait: '15s', ...(isQueued && { queue: fifo() }) })
  return Response.json({ fence: lease.fence, commands: lease.commands })
}

/** Begins a long poll and abandons it. */
async function leave(query: string, { BRIDGE, BRIDGE_TOKEN }: Env): Promise<Response> {
  const headers = { authorization: `Bearer ${BRIDGE_TOKEN}` }
  const asking = bridgeStub(BRIDGE).fetch(`https://bridge.internal/v1/wait${query}`, {
    headers,
    signal: AbortSignal.timeout(2_000),
  })
  return asking.catch(() => new Response('left'))
}

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname, search } = new URL(request.url)
    if (pathname === '/test/lock') return lock(search.slice(1), false, env)
    if (pathname === '/test/queue') return lock(search.slice(1), true, env)
    if (pathname === '/test/open') return Response.json(open)
    if (pathname === '/test/leave') return leave(search, env)
    return bridge.fetch(request, env)
  },
}
