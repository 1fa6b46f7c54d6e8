import { describe, expect, it } from 'vitest'
import { type Arena, arenas } from '../support/arena.ts'
import { ms, rounds } from '../support/scale.ts'

/** Each without a timer of its own that would fire in time. */
const waiters: readonly (readonly [string, (arena: Arena) => Parameters<Arena['client']>[0]])[] = [
  ['that a notifier would wake', (arena) => ({ notifier: arena.notifier(), recheck: '1m' })],
  ['that checks once a minute', () => ({ notifier: undefined, strategy: { delayMs: () => 60_000 } })],
]

describe.each(arenas)('a holder that dies, on %s', (_, open) => {
  it.each(waiters)(
    'is followed by a waiter %s when its time is over, though nobody says so',
    async (_name, options) => {
      await using arena = await open()
      const ttl = ms(5_000, 1_000)
      const heirs = arena.client(options(arena))
      await arena.client().acquire('dead', { ttl, renew: false })
      const heir = await heirs.acquire('dead', { wait: '30s' })
      expect(heir.waitedMs).toBeGreaterThan(ttl / 2)
      expect(heir.waitedMs).toBeLessThan(ttl + 1_000)
    },
  )

  it('has stopped trusting its lease when the next is granted the lock, however soon that asks', async () => {
    await using arena = await open()
    const [a, b] = [arena.client(), arena.client({ notifier: undefined, strategy: { delayMs: () => 1 } })]
    const follow = async (key: string): Promise<void> => {
      const lease = await a.acquire(key, { ttl: ms(5_000, 1_000), renew: false })
      const next = await b.acquire(key, { wait: '30s' })
      expect(lease.remaining()).toBe(0)
      expect(() => lease.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_LOST', reason: 'expired' }))
      expect(next.fence).toBeGreaterThan(lease.fence as number)
    }
    await Promise.all(Array.from({ length: rounds(20) }, (_unused, index) => follow(`dead-${index}`)))
  })
})
