import { callUntil, ManualClock } from '@leasehold/testkit'
import { describe, expect, it, vi } from 'vitest'
import { InvalidOptionError } from '../errors.ts'
import { drawAcquisitionId } from '../store/token.ts'
import type { Clock } from '../timing/clock.ts'
import { memoryStore } from './memory-store.ts'

const { signal } = new AbortController()

// The conformance suite tests what every store must do. These tests are for what only the memory store does.
describe('memory store', () => {
  it('reads no clock, draws no randomness and sets no timer when it is created', () => {
    const clock: Clock = { monotonicMs: vi.fn(), wallMs: vi.fn(), schedule: vi.fn() }
    const drawn = vi.spyOn(crypto, 'getRandomValues')
    memoryStore({ clock })
    for (const use of [clock.monotonicMs, clock.wallMs, clock.schedule, drawn]) expect(use).not.toHaveBeenCalled()
    drawn.mockRestore()
  })

  it('refuses a bad fence memory by name', () => {
    for (const fenceMemory of [0, Number.NaN, -1, 'soon' as '1s']) {
      expect(() => memoryStore({ fenceMemory })).toThrow(InvalidOptionError)
      expect(() => memoryStore({ fenceMemory })).toThrow(/fenceMemory/)
    }
  })

  it('mints fences from the wall clock in microseconds, or the last one and one more', async () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const fence = async (fences: number) => {
      const acquisitionId = drawAcquisitionId()
      const [outcome] = await store.acquire([{ key: 'k', acquisitionId, ttlMs: 1_000, fences }], callUntil(signal))
      await store.release([{ key: 'k', acquisitionId }], callUntil(signal))
      return outcome?.type === 'granted' ? outcome.fence : undefined
    }
    const firstMs = clock.wallMs()
    expect(await fence(17)).toBe(firstMs * 1_000)
    expect(await fence(1)).toBe(firstMs * 1_000 + 17)
    await clock.advance(1)
    expect(await fence(1)).toBe((firstMs + 1) * 1_000)
    clock.stepWall(-60_000)
    expect(await fence(1)).toBe((firstMs + 1) * 1_000 + 1)
  })

  it('lets a lease expire by the monotonic clock, whatever the wall clock says', async () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const acquire = () =>
      store.acquire([{ key: 'k', acquisitionId: drawAcquisitionId(), ttlMs: 10_000, fences: 1 }], callUntil(signal))
    await acquire()
    clock.stepWall(3_600_000)
    expect(await acquire()).toMatchObject([{ type: 'held', expiresInMs: 10_000 }])
    clock.stepWall(-7_200_000)
    await clock.advance(10_000)
    expect(await acquire()).toMatchObject([{ type: 'granted' }])
  })

  it('carries a request out within the call, before anything is awaited', async () => {
    const store = memoryStore({ clock: new ManualClock() })
    const [first, second] = [drawAcquisitionId(), drawAcquisitionId()]
    const both = [first, second].map((acquisitionId) =>
      store.acquire([{ key: 'k', acquisitionId, ttlMs: 1_000, fences: 1 }], callUntil(signal)),
    )
    expect((await Promise.all(both)).flat().map(({ type }) => type)).toEqual(['granted', 'held'])
  })

  it('carries nothing out for a caller that has given up', async () => {
    const store = memoryStore({ clock: new ManualClock() })
    const gone = AbortSignal.abort(new Error('given up'))
    const request = { key: 'k', acquisitionId: drawAcquisitionId(), ttlMs: 1_000, fences: 1 }
    expect(await store.acquire([request], callUntil(gone))).toMatchObject([{ type: 'unknown', executed: 'no' }])
    expect(await store.inspect('k', callUntil(signal))).toEqual({ type: 'state', state: { held: false } })
  })

  it('forgets an acquisition id after the fence memory, counted from its last grant or renewal', async () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock, fenceMemory: '1m' })
    const request = { key: 'k', acquisitionId: drawAcquisitionId(), ttlMs: 50_000, fences: 1 }
    const [granted] = await store.acquire([request], callUntil(signal))
    const token = granted?.type === 'granted' ? granted.token : ''
    await clock.advance(40_000)
    await store.renew([{ key: 'k', token, ttlMs: 10_000 }], callUntil(signal))
    await store.release([{ key: 'k', token }], callUntil(signal))
    await clock.advance(59_999)
    expect(await store.acquire([request], callUntil(signal))).toEqual([{ type: 'spent' }])
    await clock.advance(1)
    expect(await store.acquire([request], callUntil(signal))).toMatchObject([{ type: 'granted' }])
  })

  it('a listener that throws does not fail the release, nor the other listeners', async () => {
    const store = memoryStore({ clock: new ManualClock() })
    const uncaught = vi.spyOn(globalThis, 'queueMicrotask').mockImplementation((task) => {
      void Promise.resolve()
        .then(task)
        .catch(() => undefined)
    })
    const heard = vi.fn()
    store.listen('k', () => {
      throw new Error('a broken listener')
    })
    store.listen('k', heard)
    const acquisitionId = drawAcquisitionId()
    await store.acquire([{ key: 'k', acquisitionId, ttlMs: 1_000, fences: 1 }], callUntil(signal))
    expect(await store.release([{ key: 'k', acquisitionId }], callUntil(signal))).toEqual([
      { type: 'released', announced: true, subscribers: 2 },
    ])
    await vi.waitUntil(() => heard.mock.calls.length === 1)
    uncaught.mockRestore()
  })
})
