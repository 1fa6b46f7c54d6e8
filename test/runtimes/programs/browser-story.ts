/*
 * What a page does with locks: its store is on its own origin, and the bridge on another. A test calls it through
 * `story`.
 */

import { bridgeNotifier } from '@leasehold/bridge-client'
import { createLocker } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'

interface Places {
  readonly store: string
  readonly storeToken: string
  readonly bridge: string
  readonly token: string
}

const story = {
  /** Waits for a lock; woken, or not at all. */
  async wait({ store, storeToken, bridge, token }: Places, mode: 'sse' | 'long-poll', key: string) {
    const refusals: number[] = []
    const notifier = bridgeNotifier({
      url: bridge,
      token,
      mode,
      onError: ({ status }) => refusals.push(status),
    })
    const locks = createLocker({
      store: fetchStore({ url: store, token: storeToken }),
      notifier,
      strategy: { delayMs: () => 3_600_000 },
    })
    const lease = await locks.acquire(key, { wait: '30s' })
    const { fence, commands } = lease
    await lease.release()
    await locks.close()
    return { fence, commands, refusals }
  },

  /** Waits for a lock until the bridge refuses; returns the status. */
  async refusal({ store, storeToken, bridge, token }: Places, key: string) {
    const stop = new AbortController()
    const status = Promise.withResolvers<number>()
    const notifier = bridgeNotifier({ url: bridge, token, onError: (refusal) => status.resolve(refusal.status) })
    const locks = createLocker({ store: fetchStore({ url: store, token: storeToken }), notifier })
    const waiting = locks.acquire(key, { signal: stop.signal }).catch(() => undefined)
    const told = await status.promise
    stop.abort()
    await waiting
    await locks.close()
    return told
  },

  /** What a page can read of a bridge's answer; or that it may not read it. */
  async read({ bridge, token }: Places, path: string) {
    const headers = { Authorization: `Bearer ${token}`, 'Cache-Control': 'no-store' }
    try {
      const answer = await fetch(bridge + path, { headers, cache: 'no-store' })
      const names = ['leasehold-cursor', 'leasehold-prefix', 'retry-after']
      return { status: answer.status, ...Object.fromEntries(names.map((name) => [name, answer.headers.get(name)])) }
    } catch (error) {
      return String(error)
    }
  },
}

Object.assign(globalThis, { story })
