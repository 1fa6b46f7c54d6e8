import {
  callUntil,
  follow,
  ScriptedNotifier,
  ScriptedStore,
  type ScriptedSubscription,
  testLocker,
} from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLocker } from '../locker.ts'
import { memoryStore } from '../memory/index.ts'
import { drawAcquisitionId } from '../store/token.ts'

const { signal: unstopped } = new AbortController()

let notifier: ScriptedNotifier
let { store, clock } = testLocker()
beforeEach(() => {
  ;({ store, clock } = testLocker())
  notifier = new ScriptedNotifier()
})

/** Somebody elsewhere takes the lock. Returns its fence, and a function that gives it back without a signal. */
async function occupy(ttlMs = 60_000): Promise<{ fence: string; release(): Promise<void> }> {
  const acquisitionId = drawAcquisitionId()
  const [outcome] = await store.acquire([{ key: 'k', acquisitionId, ttlMs, fences: 1 }], callUntil(unstopped))
  return {
    fence: String((outcome as { fence: number }).fence),
    async release() {
      await store.release([{ key: 'k', acquisitionId }], callUntil(unstopped))
    },
  }
}

/** A waiter that has found the lock held, has subscribed, and has found it held again. */
async function waiter(): Promise<ScriptedSubscription> {
  const locks = createLocker({ store, notifier, clock, ttl: '10s', wait: '1m' })
  follow(locks.acquire('k'), clock)
  await clock.advance(100)
  return notifier.subscriptions.at(-1) as ScriptedSubscription
}

describe('a waiter suspects its subscription', () => {
  it('when it checks by itself, finds the lock free before its holder’s time is over, and no signal has come', async () => {
    const { fence, release } = await occupy()
    const subscription = await waiter()
    await release()
    await clock.advance(1_000)
    expect(subscription).toMatchObject({ suspected: [fence], closed: true })
  })

  it('when it finds another holder', async () => {
    const { fence, release } = await occupy()
    const subscription = await waiter()
    await release()
    await occupy()
    await clock.advance(5_000)
    expect(subscription).toMatchObject({ suspected: [fence], closed: false })
  })

  it('not while the holder stays', async () => {
    await occupy()
    const subscription = await waiter()
    await clock.advance(30_000)
    expect(subscription.suspected).toEqual([])
  })

  it('not when a signal has told of the change', async () => {
    const { release } = await occupy()
    const subscription = await waiter()
    await release()
    subscription.signal()
    await clock.advance(2_000)
    expect(subscription).toMatchObject({ suspected: [], closed: true })
  })

  it('not when a signal has come while it was checking', async () => {
    const { release } = await occupy()
    const subscription = await waiter()
    await release()
    store.next('acquire', async ({ execute }) => {
      const outcomes = await execute()
      subscription.signal()
      return outcomes
    })
    await clock.advance(1_000)
    expect(subscription).toMatchObject({ suspected: [], closed: true })
  })

  it('not when the holder’s time may be over', async () => {
    await occupy(700)
    const subscription = await waiter()
    await clock.advance(1_000)
    expect(subscription).toMatchObject({ suspected: [], closed: true })
  })

  it('not when its subscription was not live all along', async () => {
    const { release } = await occupy()
    const subscription = await waiter()
    subscription.live = false
    await clock.advance(1_000)
    await release()
    subscription.live = true
    await clock.advance(1_000)
    expect(subscription).toMatchObject({ suspected: [], closed: true })
  })

  it('not when the earlier holder is of another library, which announces nothing', async () => {
    const real = memoryStore({ clock })
    let tries = 0
    const acquire = real.acquire.bind(real)
    real.acquire = async (requests, signal) =>
      ++tries > 2 ? acquire(requests, signal) : [{ type: 'held', cursor: '-', expiresInMs: 60_000, holder: null }]
    store = new ScriptedStore(clock, real)
    const subscription = await waiter()
    await clock.advance(1_000)
    expect(subscription).toMatchObject({ suspected: [], closed: true })
  })

  it('not when it gives up', async () => {
    await occupy()
    const subscription = await waiter()
    await clock.advance(61_000)
    expect(subscription).toMatchObject({ suspected: [], closed: true })
  })
})
