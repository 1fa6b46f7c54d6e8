/*
 * What a server does with a lock, over the built packages: holds it beyond its ttl while another call waits, hands it
 * off, releases it to a waiter that is notified, and loses it; and the async context in which each of several requests
 * learns that its lock was lost. Prints what it saw, and is left to end by itself. Argument: the Redis URL.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createLocker, LeaseLostError, type WaitStrategy } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { runtime } from './runtime.ts'

const redis = new Redis(process.argv[2] ?? '')
// So long that a renewal's timer, which is due after a sixth of it at the earliest, would be seen to keep the process alive.
const ttl = '1m'
const locks = createLocker({ store: ioredisStore(redis), name: 'server', ttl })
const others = createLocker({ store: ioredisStore(redis), notifier: ioredisNotifier(redis), ttl })
/** A waiter with this strategy does not poll: only a notification wakes it. */
const never: WaitStrategy = { delayMs: () => 3_600_000 }
const elapse = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const first = await locks.acquire('story', { ttl: '2s' })
const refused = await others.tryAcquire('story')
const next = locks.acquire('story', { wait: '10s' })
await elapse(2_500)
first.assertValid()
const released = await first.release()
const second = await next
const seen = await others.inspect('story')

const waiting = others.acquire('story', { wait: '8s', strategy: never, recheck: '1h' })
while ((await redis.pubsub('NUMSUB', 'lock:release:story'))[1] !== 1) await elapse(10)
const releasedAt = performance.now()
const passedOn = await second.release()
const third = await waiting
const wokenMs = Math.round(performance.now() - releasedAt)

await others.revoke('story')
const lost = await third.renew({ ttl: '10s' }).catch((error: unknown) => error)

const request = new AsyncLocalStorage<string>()
const lossesIn: (string | null)[] = []
for (const name of ['first', 'second', 'third']) {
  await request.run(name, async () => {
    const { signal } = await locks.acquire(name, { ttl: '1500ms' })
    signal.addEventListener('abort', () => lossesIn.push(request.getStore() ?? null))
  })
  await others.revoke(name)
}
while (lossesIn.length < 3) await elapse(10)

const embedded = await createLocker({ store: memoryStore() }).withLock('story', (lease) => lease.remaining() > 0)
await Promise.all([locks.close(), others.close()])
redis.disconnect()

console.log(
  JSON.stringify({
    runtime,
    refused,
    released: [released, passedOn],
    risen: [first, second, third].every(
      ({ fence }, index, leases) => Number(fence) > Number(leases[index - 1]?.fence ?? 0),
    ),
    holder: seen.held && seen.holder,
    lost: lost instanceof LeaseLostError && lost.reason,
    lossesIn,
    disposable: Symbol.asyncDispose in third,
    embedded,
    wokenMs,
  }),
)
