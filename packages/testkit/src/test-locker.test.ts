import { expect, expectTypeOf, it } from 'vitest'
import { replyLost } from './fate.ts'
import { ScriptedNotifier } from './scripted-notifier.ts'
import { follow } from './settlement.ts'
import { testLocker } from './test-locker.ts'

it('a lease of a test locker ends when the test moves the clock, and the store under it has seen each call', async () => {
  const { locks, store, clock } = testLocker({ ttl: '5s', renew: false })
  const lease = await locks.acquire('k')
  await clock.advance(5_000)
  expect(lease.signal.aborted).toBe(true)
  expect(store.calls.map(({ name }) => name)).toEqual(['acquire'])
})

it('the events of one type come with the fields of that type, beside the listener of the test', async () => {
  const heard: string[] = []
  const { locks, elsewhere, clock, events, eventsOf } = testLocker({ onEvent: ({ type }) => heard.push(type) })
  const lease = await locks.acquire('k')
  await elsewhere.revoke('k')
  await clock.advance(5_000)
  expect(lease.signal.aborted).toBe(true)
  const [lost] = eventsOf('lost')
  expectTypeOf(lost).toExtend<{ readonly reason: string } | undefined>()
  expect([lost?.reason, eventsOf('released')]).toEqual(['gone', []])
  expect(events.map(({ type }) => type)).toEqual(heard)
})

it('elsewhere is another process: it contends for the same locks, and records nothing', async () => {
  const { locks, elsewhere, events } = testLocker()
  await elsewhere.acquire('k')
  expect(events).toEqual([])
  expect(await locks.tryAcquire('k')).toBeNull()
})

it('a scripted notifier wakes a waiter when the test says so', async () => {
  const { locks, elsewhere, clock, notifier } = testLocker({
    notifier: new ScriptedNotifier(),
    recheck: '1m',
    wait: '1h',
  })
  const held = await elsewhere.acquire('k', { ttl: '1h' })
  const waiting = follow(locks.acquire('k'), clock)
  await clock.advance(10)
  await held.release()
  await clock.advance(10)
  expect(waiting.state).toBe('pending')
  notifier.signal()
  await clock.advance(1_000)
  expect(waiting.state).toBe('fulfilled')
})

it('closing gives back what is held, and moves the clock until a reply that is lost has been given up', async () => {
  const test = testLocker()
  await test.locks.acquire('k')
  test.store.next('release', replyLost)
  await test.close()
  expect(test.store.called('release').length).toBeGreaterThan(0)
  expect(test.clock.monotonicMs()).toBeGreaterThan(0)
  expect(test.clock.pending).toBe(0)
})
