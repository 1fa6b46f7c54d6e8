import type { Locker } from '@leasehold/core'
import { fifo, inspectQueue } from '@leasehold/core/queue'
import { within } from '@leasehold/core/re-entry'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Place, places } from '../support/groups-of-locks.ts'
import { elapse, eventually, ms, rounds } from '../support/scale.ts'

describe.each(places)('%s', (_, open) => {
  let place: Place
  let a: Locker
  let b: Locker
  beforeAll(async () => {
    place = await open()
    a = place.client({ name: 'a' })
    b = place.client({ name: 'b' })
  })
  afterAll(() => place[Symbol.asyncDispose]())

  it('T-19 a hold after nested ones is renewed, and after each full exit the lock is free at once', async () => {
    // Not shortened in `npm test`: a busy machine may stop this process for half a second.
    const ttl = 2_000
    for (let round = 0; round < rounds(5, 2); round++) {
      const lease = await a.acquire('k', { ttl })
      const nested = await within(a, lease).acquire('k')
      await nested.release()
      expect(await b.tryAcquire('k')).toBeNull()
      await lease.release()
      const other = await b.tryAcquire('k')
      expect(other).not.toBeNull()
      await other?.release()
    }
    await using lease = await a.acquire('k', { ttl })
    const untilMs = performance.now() + 4 * ttl
    let refused = 0
    while (performance.now() < untilMs) {
      expect(await b.tryAcquire('k')).toBeNull()
      refused++
      await elapse(50)
    }
    lease.assertValid()
    console.log(`T-19: ${refused} tries were refused during a hold of four ttls`)
  })

  it.each([
    ['plain', undefined],
    ['fair', fifo()],
  ])('T-20 a re-entry of a %s lock does not wait for itself, nor behind those who do', async (kind, queue) => {
    const key = `${kind}-lock`
    const lease = await a.acquire(key, { queue })
    const order: string[] = []
    const waiting = [a, b].map(async (locks, at) => {
      const taken = await locks.acquire(key, { wait: '20s', queue })
      order.push(at === 0 ? 'a' : 'b')
      return taken.release()
    })
    if (queue) await eventually(async () => (await inspectQueue(b, key)).waiting === 2)
    // Without a queue, the store does not know who waits. Both have tried by then.
    else await elapse(ms(500, 100))
    const sinceMs = performance.now()
    const again = within(a, lease)
    const nested = [
      await again.tryAcquire(key),
      await again.acquire(key, { wait: '5s' }),
      await again.acquire(key, { wait: '5s', queue: fifo() }),
    ]
    expect(performance.now() - sinceMs).toBeLessThan(50)
    for (const hold of nested) expect(hold?.fence).toBe(lease.fence)
    await lease.release()
    for (const hold of nested) {
      expect(order).toEqual([])
      await hold?.release()
    }
    expect(await Promise.all(waiting)).toEqual(['released', 'released'])
    expect(order.toSorted()).toEqual(['a', 'b'])
  })
})
