import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { arenas, overNodeRedisToo } from '../support/arena.ts'
import { eventually, rounds } from '../support/scale.ts'

describe.each([...new Set([...arenas, overNodeRedisToo])])('one abort signal for every call on %s', (_, open) => {
  it('T-76: has one listener for each open wait, and none of what has ended', async () => {
    await using arena = await open()
    const a = arena.client({ notifier: arena.notifier() })
    const b = arena.client({ notifier: arena.notifier() })
    const { signal } = new AbortController()
    const listeners = (): number => getEventListeners(signal, 'abort').length

    for (let call = 0; call < rounds(600); call += 3) {
      const lease = await a.acquire(`free-${call}`, { signal })
      // Once granted, the lease has a signal of its own.
      expect(listeners()).toBe(0)
      await lease.release()
      await a.withLock(`free-${call}`, { signal }, () => expect(listeners()).toBe(0))
      await (await a.tryAcquire(`free-${call}`, { signal }))?.release()
    }
    expect(listeners()).toBe(0)

    // Of the waiters for one key, one tries the store, and the others stand in line.
    const held = await Promise.all(Array.from({ length: 10 }, (_, key) => b.acquire(`held-${key}`, { ttl: '5m' })))
    const waits = Array.from({ length: rounds(500) }, (_, wait) =>
      a.acquire(`held-${wait % held.length}`, { signal, wait: '2s' }),
    )
    const ended = Promise.allSettled(waits)
    await eventually(() => listeners() === waits.length)
    for (const end of await ended) expect(end).toMatchObject({ reason: { code: 'ACQUIRE_TIMEOUT' } })
    expect(listeners()).toBe(0)
    await Promise.all(held.map((lease) => lease.release()))

    const first = await a.acquire('passed')
    let waiting = rounds(300)
    const turns = Array.from({ length: waiting }, (_, turn) =>
      (turn % 2 ? a : b).withLock('passed', { signal, wait: '60s' }, () => expect(listeners()).toBe(--waiting)),
    )
    await eventually(() => listeners() === turns.length)
    await first.release()
    await Promise.all(turns)
    expect(listeners()).toBe(0)
  })
})
