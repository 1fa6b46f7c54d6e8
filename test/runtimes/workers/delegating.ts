/*
 * Takes a lock that a Durable Object renews, holds it until the test lets it continue, and then returns, throws or
 * releases, as `end` says. Without `release` it leaves the lease behind, like a Worker that is cut off. It also pays,
 * idempotently.
 */

import { env, waitUntil } from 'cloudflare:workers'
import { leaseWatchdog, watchdog } from '@leasehold/cloudflare'
import { createLocker, type Lease, type Locker } from '@leasehold/core'
import { idempotent } from '@leasehold/idempotency'
import { fetchStore } from '@leasehold/upstash'

const store = fetchStore({ url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN })
const locks = createLocker({ store, ttl: '3s', renew: watchdog(env.WATCHDOG, { minTtl: '1s', nameOf: (key) => key }) })

const once = idempotent({ locks, scope: 'shop', ttl: '3s' })

/** A locker that renews within the request. */
const plain = createLocker({ store, ttl: '3s' })

export class LeaseWatchdog extends leaseWatchdog(() => ({ store, minTtl: '1s', grace: '1s' })) {}

async function hold(key: string, end: string): Promise<unknown> {
  const lease: Lease = await locks.acquire(key)
  const going = env.TEST.fetch(`http://test/${key}`)
  if (end === 'wait-until') {
    waitUntil(going.then(() => lease.release()))
    return 'answered'
  }
  await going
  if (end === 'throw') throw new Error('The handler has failed')
  if (end === 'release') await lease.release()
  return { lost: lease.signal.aborted }
}

/** Pays once the test lets it. */
const pay = (request: Request): Promise<Response> =>
  once(request, async (_, { run }) => {
    await env.TEST.fetch(`http://test/${run?.key}`)
    run?.assertValid()
    return Response.json({ paid: crypto.randomUUID() }, { status: 201 })
  })

/** Holds the lock for as long as its answer is being read; a byte of it comes now and then. */
async function stream(key: string, by: Locker): Promise<Response> {
  await by.acquire(key)
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const write = async (): Promise<void> => {
    for (;;) {
      await writer.write(new Uint8Array(1))
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  write().catch(() => undefined)
  return new Response(readable)
}

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const key = searchParams.get('key') ?? ''
    const object = env.WATCHDOG.getByName(key) as { status(): Promise<object> }
    if (pathname === '/status') return Response.json(await object.status())
    if (pathname === '/payments') return pay(request)
    if (pathname === '/stream') return stream(key, searchParams.has('plain') ? plain : locks)
    return Response.json(await hold(key, searchParams.get('end') ?? ''))
  },
}
