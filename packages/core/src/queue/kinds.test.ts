import { follow } from '@leasehold/testkit'
import { expect, it } from 'vitest'
import { queueing } from '../../test/queueing.ts'
import { detach, resume } from '../hand-over/index.ts'
import { KeyCalls, type Shared, sharedOf } from '../key-locker.ts'
import { callSettings } from '../options.ts'
import { inspectQueue, priority } from './index.ts'
import { queuedCalls } from './queued-calls.ts'

it('a lock for several holders has them, renews them, and lets the next in when one gives it back', async () => {
  const { clock, process } = queueing()
  // Its calls queue for their own kind of lock, although those of the locker queue for the whole lock.
  const { locks, store } = process({ ttl: '3s' })
  const shared = sharedOf(locks) as Shared
  const wish = { kind: { name: 'semaphore', capacity: 2 }, permits: 1 } as const
  const calls = new KeyCalls(queuedCalls(shared, wish), 'k', callSettings(shared.defaults))
  const held = [await calls.acquire(), await calls.acquire()]
  const waiting = follow(calls.acquire({ wait: '1m' }), clock)
  await clock.advance(20_000)
  expect(held.map(({ signal }) => signal.aborted)).toEqual([false, false])
  expect(store.called('renew')).toEqual([])
  expect(store.called('queue.renew').length).toBeGreaterThan(10)
  expect(await inspectQueue(locks, 'k')).toMatchObject({
    kind: wish.kind,
    holders: [{ permits: 1 }, { permits: 1 }],
    waiters: [{ permits: 1, hasTurn: false }],
    waiting: 1,
  })
  await held[0]?.renew({ ttl: '1m' })
  await held[0]?.release()
  await clock.advance(0)
  expect(waiting.state).toBe('fulfilled')
})

it('another kind under the same key is refused', async () => {
  const { process } = queueing()
  const { locks, commands } = process()
  const shared = sharedOf(locks) as Shared
  const calls = new KeyCalls(
    queuedCalls(shared, { kind: { name: 'semaphore', capacity: 2 }, permits: 1 }),
    'k',
    callSettings(shared.defaults),
  )
  await locks.acquire('k', { queue: priority(2) })
  commands()
  await expect(calls.acquire()).rejects.toMatchObject({ code: 'KIND_MISMATCH', key: 'k' })
  // It has not entered the queue, and need not leave it.
  expect(commands()).toEqual(['queue.acquire'])
})

it('a queued lease can be detached and resumed, and the next in the queue is served after that', async () => {
  const { clock, process } = queueing()
  const [one, two, three] = [process(), process(), process()]
  const message = await detach(await one.locks.acquire('k'), { ttl: '1m' })
  const waiting = three.queue()
  await clock.advance(100)
  const resumed = await resume(two.locks, message)
  await resumed.release()
  await clock.advance(0)
  expect(waiting.state).toBe('fulfilled')
  await expect(resume(two.locks, message, { queue: priority(1) } as object)).rejects.toMatchObject({ option: 'queue' })
})
