import { ManualClock, ScriptedStore } from '@leasehold/testkit'
import { afterEach, expect, it, vi } from 'vitest'
import { createLocker } from '../locker.ts'

// What the package's imports select under `workerd`: no lanes, and a watchdog for each lease.
vi.mock('#renewal-lanes', () => import('./renewal-lanes.workerd.ts'))

afterEach(() => {
  vi.restoreAllMocks()
})

it('no renewal follows the release of a lease by whoever hears that it is held for long', async () => {
  const clock = new ManualClock()
  const store = new ScriptedStore(clock)
  const locks = createLocker({
    store,
    clock,
    onEvent: ({ type }) => type === 'long-held' && void lease.release(),
  })
  // Both fall due together: the first renewal comes anywhere in the second half of a third of the ttl, here after 1.5 s.
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  const lease = await locks.acquire('k', { ttl: '6s', longHeld: '1500ms' })
  await clock.advance(10_000)
  const released = store.calls.findIndex(({ name }) => name === 'release')
  expect(released).toBeGreaterThan(0)
  expect(store.calls.slice(released).filter(({ name }) => name === 'renew')).toEqual([])
})
