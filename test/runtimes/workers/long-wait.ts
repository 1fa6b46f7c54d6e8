/*
 * Waits for a lock for 30 s, as often at once as `waiters` says, within one request and its `budget`. Answers with how
 * many commands that took, and with how each wait ended. Then it tries for another lock, and tells what came of that.
 */

import { env, waitUntil } from 'cloudflare:workers'
import { bridgeNotifier } from '@leasehold/bridge-client'
import { requestScope } from '@leasehold/cloudflare'
import { createLocker } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'

const { BRIDGE_URL: url, BRIDGE_TOKEN: token } = env

const told = (error: unknown): object => {
  const { code, option, message, waitedMs } = error as Record<string, unknown>
  return { code, option, message, waitedMs }
}

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  async fetch(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url)
    const key = searchParams.get('key') ?? ''
    let commands = 0
    const locks = createLocker({
      store: fetchStore({
        url: env.GATEWAY_URL,
        token: env.GATEWAY_TOKEN,
        fetch: (...args) => {
          commands++
          return fetch(...args)
        },
      }),
      ...(url && { notifier: bridgeNotifier({ url, token }) }),
      ...requestScope({ waitUntil }, { budget: Number(searchParams.get('budget')) }),
    })
    const wait = (): Promise<object> => locks.acquire(key, { wait: '30s' }).then(() => ({ code: 'ACQUIRED' }), told)
    const ends = await Promise.all(Array.from({ length: Number(searchParams.get('waiters')) }, wait))
    const waited = commands
    const after = await locks.tryAcquire(`${key}, free`).then(() => ({ code: 'ACQUIRED' }), told)
    return Response.json({ waited, ends, after, tried: commands - waited })
  },
}
