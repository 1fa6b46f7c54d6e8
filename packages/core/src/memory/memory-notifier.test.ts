import { callUntil, ManualClock } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { drawAcquisitionId } from '../store/token.ts'
import type { ReleaseNotifier } from '../waiting/release-notifier.ts'
import { memoryNotifier } from './memory-notifier.ts'
import { type MemoryStore, memoryStore } from './memory-store.ts'

const { signal } = new AbortController()

describe('memory notifier', () => {
  let store: MemoryStore
  let notifier: ReleaseNotifier

  beforeEach(() => {
    store = memoryStore({ clock: new ManualClock() })
    notifier = memoryNotifier(store)
  })
  afterEach(() => {
    vi.unstubAllGlobals()
  })

  /** Acquires and releases. Resolves with how many were listening. */
  const release = async (key: string): Promise<number | null> => {
    const acquisitionId = drawAcquisitionId()
    await store.acquire([{ key, acquisitionId, ttlMs: 1_000, fences: 1 }], callUntil(signal))
    const [outcome] = await store.release([{ key, acquisitionId }], callUntil(signal))
    return outcome?.type === 'released' ? outcome.subscribers : null
  }

  it('a subscription is live at once, and counts the releases of its key', async () => {
    const subscription = notifier.subscribe('k', '-')
    await subscription.ready
    expect(subscription).toMatchObject({ live: true, signals: 0 })
    await release('other')
    expect(subscription.signals).toBe(0)
    await release('k')
    await release('k')
    expect(subscription.signals).toBe(2)
  })

  it('a revoke is a signal too', async () => {
    const subscription = notifier.subscribe('k', '-')
    await store.acquire([{ key: 'k', acquisitionId: drawAcquisitionId(), ttlMs: 1_000, fences: 1 }], callUntil(signal))
    await store.revoke('k', callUntil(signal))
    expect(subscription.signals).toBe(1)
  })

  it('each subscription has its own count, from when it began', async () => {
    const first = notifier.subscribe('k', '-')
    await release('k')
    const second = notifier.subscribe('k', '-')
    await release('k')
    expect([first.signals, second.signals]).toEqual([2, 1])
  })

  it('a callback is called once, by the next signal', async () => {
    const subscription = notifier.subscribe('k', '-')
    const callback = vi.fn()
    subscription.onSignal(subscription.signals, callback)
    expect(callback).not.toHaveBeenCalled()
    await release('k')
    await release('k')
    expect(callback).toHaveBeenCalledTimes(1)
  })

  it('a signal between two waits is not lost: the callback is called at once', async () => {
    const subscription = notifier.subscribe('k', '-')
    const seen = subscription.signals
    await release('k')
    const callback = vi.fn()
    subscription.onSignal(seen, callback)
    expect(callback).toHaveBeenCalledTimes(1)
  })

  it('a withdrawn callback is not called, and withdrawing one leaves its twin', async () => {
    const subscription = notifier.subscribe('k', '-')
    const callback = vi.fn()
    const withdraw = subscription.onSignal(0, callback)
    subscription.onSignal(0, callback)
    withdraw()
    await release('k')
    expect(callback).toHaveBeenCalledTimes(1)
  })

  it('a waiter never runs within the release that woke it', async () => {
    const subscription = notifier.subscribe('k', '-')
    const acquisitionId = drawAcquisitionId()
    await store.acquire([{ key: 'k', acquisitionId, ttlMs: 1_000, fences: 1 }], callUntil(signal))
    const order: string[] = []
    subscription.onSignal(0, () => order.push('woken'))
    const releasing = store.release([{ key: 'k', acquisitionId }], callUntil(signal))
    order.push('released')
    await releasing
    expect(order).toEqual(['released', 'woken'])
  })

  it('a closed subscription hears nothing and leaves nothing behind', async () => {
    const subscription = notifier.subscribe('k', '-')
    const callback = vi.fn()
    subscription.onSignal(0, callback)
    subscription.close()
    subscription.close()
    expect(subscription.live).toBe(false)
    expect(await release('k')).toBe(0)
    expect(callback).not.toHaveBeenCalled()
  })

  it('closing one subscription leaves the others of its key', async () => {
    const [first, second] = [notifier.subscribe('k', '-'), notifier.subscribe('k', '-')]
    first.close()
    expect(await release('k')).toBe(1)
    expect(second.signals).toBe(1)
  })

  it('close ends every subscription, and later ones are not live', async () => {
    const open = ['a', 'b', 'a'].map((key) => notifier.subscribe(key, '-'))
    await notifier.close()
    await notifier.close()
    expect(open.map(({ live }) => live)).toEqual([false, false, false])
    expect(await release('a')).toBe(0)
    const late = notifier.subscribe('a', '-')
    await late.ready
    expect(late.live).toBe(false)
    expect(await release('a')).toBe(0)
  })

  it('where calls share nothing it hears nothing, so that no request wakes the waiter of another', async () => {
    vi.stubGlobal('EdgeRuntime', 'edge')
    const subscription = notifier.subscribe('k', '-')
    await subscription.ready
    expect(subscription.live).toBe(false)
    expect(await release('k')).toBe(0)
  })
})
