import { env } from 'cloudflare:workers'
import { createLocker } from '@leasehold/core'
import { claimRecord } from '@leasehold/core/records'
import { fetchStore } from '@leasehold/upstash'
import { expect, test } from 'vitest'

/* The tests of the HTTP store on Node, repeated where it really runs: over workerd's `fetch`. */

const gateway = { url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN }

test('T-40: no answer comes from a cache of requests that look alike', async () => {
  const answers = new Map<string, Response>()
  let reused = 0
  /** As in frameworks: it caches every response that does not forbid that. */
  const caching = async (url: string, init: RequestInit): Promise<Response> => {
    const request = new Request(url, init)
    const forbidden = request.cache === 'no-store' || request.headers.get('cache-control') === 'no-store'
    const kept = answers.get(url + init.body)
    if (kept && !forbidden) {
      reused++
      return kept.clone()
    }
    const answer = await fetch(request)
    if (!forbidden) answers.set(url + init.body, answer.clone())
    return answer
  }
  const locks = createLocker({ store: fetchStore({ ...gateway, fetch: caching as never }), wait: 0 })
  const other = createLocker({ store: fetchStore(gateway), wait: 0 })
  for (let round = 0; round < 20; round++) {
    const lease = await locks.acquire('cached')
    expect(await locks.isLocked('cached')).toBe(true)
    await lease.release()
    expect(await locks.isLocked('cached')).toBe(false)
    await other.withLock('cached', async () => expect(await locks.isLocked('cached')).toBe(true))
  }
  expect([reused, answers.size]).toEqual([0, 0])
})

test('T-41: what was carried out and whose reply is lost counts once', async () => {
  let drop = false
  let dropped = 0
  const losing = async (url: string, init: RequestInit): Promise<Response> => {
    const answer = await fetch(url, init)
    if (!drop) return answer
    drop = false
    dropped++
    await answer.text()
    throw new Error('Network connection lost.')
  }
  const locks = createLocker({ store: fetchStore({ ...gateway, fetch: losing as never }) })
  const other = createLocker({ store: fetchStore(gateway), wait: '5s' })
  await other.withLock('lost', async () => undefined)

  drop = true
  const lease = await locks.acquire('lost', { wait: '5s' })
  expect(await locks.inspect('lost')).toMatchObject({ held: true, fence: lease.fence })
  drop = true
  await lease.renew({ ttl: '20s' })
  drop = true
  await lease.renew({ by: '30s' })
  expect(lease.signal.aborted).toBe(false)
  const state = await locks.inspect('lost')
  expect(state.held && state.expiresInMs).toBeLessThan(50_500)
  const waiting = other.acquire('lost')
  drop = true
  expect(await lease.release()).toBe('released')
  await (await waiting).release()

  drop = true
  const claim = await claimRecord(locks, 'lost-record', { fingerprint: 'f' })
  if (claim.type !== 'claimed') throw new Error(claim.type)
  drop = true
  expect(await claim.run.complete(new Uint8Array([1]))).toEqual({ type: 'completed', result: true })
  expect(dropped).toBe(6)
})
