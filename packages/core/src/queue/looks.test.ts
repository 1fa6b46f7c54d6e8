import { answered, type Fate, follow, replyAfter, requestLost, ScriptedNotifier } from '@leasehold/testkit'
import { expect, it } from 'vitest'
import { queueing } from '../../test/queueing.ts'
import { openInbox, withInbox } from '../../test/scripted-inbox.ts'
import { LeaseholdError } from '../index.ts'
import { inspectQueue } from './index.ts'

it('one look asks for every key that is due at about the same time', async () => {
  const { clock, process } = queueing()
  const [one, two] = [process(), process()]
  for (const key of ['a', 'b', 'c']) {
    await one.locks.acquire(key)
    follow(two.locks.acquire(key), clock)
    await clock.advance(100)
  }
  two.store.calls.length = 0
  await clock.advance(10_000)
  const looks = two.store.called('queue.look')
  expect(looks.length).toBeLessThanOrEqual(11)
  expect(looks.at(-1)?.requests.map(({ key }) => key)).toEqual(['a', 'b', 'c'])
})

it('a look names the first hundred waiters, and the others once those are gone', async () => {
  const { clock, process } = queueing()
  const [one, two] = [process(), process()]
  const held = await one.locks.acquire('k')
  const order: number[] = []
  for (let n = 1; n <= 150; n++) {
    void two.locks.acquire('k').then((lease) => {
      order.push(n)
      return lease.release()
    })
  }
  await clock.advance(1_500)
  const named = two.store.called('queue.look').at(-1)?.requests[0]?.numbers ?? []
  expect(named).toEqual(Array.from({ length: 100 }, (_, at) => at + 1))
  await held.release()
  await clock.advance(0)
  expect(order).toEqual(Array.from({ length: 150 }, (_, at) => at + 1))
})

it('releases that nobody here can make use of lead to few looks', async () => {
  const notifier = new ScriptedNotifier()
  const { clock, process } = queueing()
  const [one, two] = [process(), process({ notifier: withInbox(notifier) })]
  await one.locks.acquire('k')
  two.queue()
  await clock.advance(500)
  two.store.calls.length = 0
  for (let each = 0; each < 50; each++) {
    notifier.signal()
    await clock.advance(1)
  }
  const looks = two.store.called('queue.look').length
  expect(looks).toBeGreaterThan(2)
  expect(looks).toBeLessThanOrEqual(6)
})

it('where messages may have been missed, every key is looked at', async () => {
  const { clock, process } = queueing()
  const inbox = openInbox()
  const [one, two] = [process(), process({ notifier: withInbox(new ScriptedNotifier(), inbox) })]
  const held = await Promise.all(['a', 'b'].map((key) => one.locks.acquire(key)))
  const waiting = ['a', 'b'].map((key) => follow(two.locks.acquire(key), clock))
  await clock.advance(100)
  for (const lease of held) await lease.release()
  await clock.advance(100)
  expect(waiting.map(({ state }) => state)).toEqual(['pending', 'pending'])
  inbox.say(undefined)
  await clock.advance(0)
  expect(waiting.map(({ state }) => state)).toEqual(['fulfilled', 'fulfilled'])
})

it('many that have fallen out of the queue enter it again: a look names those who have not been asked about', async () => {
  const { clock, process } = queueing()
  const [one, two] = [process(), process()]
  const held = await one.locks.acquire('k')
  for (let each = 0; each < 250; each++) two.queue()
  await clock.advance(50)
  const next = one.queue()
  await clock.advance(50)
  two.isDeaf = true
  two.store.always('queue.look', requestLost)
  await held.release()
  // Nobody takes the turn, so all of them are void, and the turn goes to the waiter that came after them.
  await clock.advance(5_000)
  expect(next.state).toBe('fulfilled')
  two.store.always('queue.look', answered)
  two.store.calls.length = 0
  await clock.advance(4_000)
  expect(two.store.called('queue.acquire')).toHaveLength(250)
  expect((await inspectQueue(one.locks, 'k')).waiting).toBe(250)
})

it('who polls by a shorter recheck is looked for as often', async () => {
  const { clock, process } = queueing()
  const [one, two] = [process(), process()]
  await one.locks.acquire('k', { ttl: '1h' })
  two.queue({ recheck: '200ms' })
  await clock.advance(100)
  two.store.calls.length = 0
  await clock.advance(2_000)
  expect(two.store.called('queue.look')).toHaveLength(10)
})

it('who relies on a longer one is looked for every two seconds all the same: its inbox lives by that', async () => {
  const { clock, process } = queueing()
  const [one, two] = [process(), process()]
  await one.locks.acquire('k', { ttl: '1h' })
  two.queue({ recheck: '1m' })
  await clock.advance(20_000)
  expect(two.store.called('queue.look').length).toBeGreaterThanOrEqual(10)
})

it('a look that is answered after the last waiter has gone leads to no other', async () => {
  const { clock, process } = queueing()
  const [one, two] = [process({ renew: false, ttl: '1h', longHeld: '1h' }), process()]
  await one.locks.acquire('k')
  const idle = clock.pending
  two.store.next('queue.look', replyAfter(300))
  const stop = new AbortController()
  two.queue({ signal: stop.signal })
  await clock.advance(100)
  stop.abort()
  await clock.advance(400)
  expect(clock.pending).toBe(idle)
})

it('a look that is refused makes a waiter ask itself, and it says why', async () => {
  const { clock, process } = queueing()
  const [one, two] = [process(), process()]
  await one.locks.acquire('k')
  const waiting = two.queue()
  await clock.advance(100)
  const refused: Fate = async () => [{ type: 'refused', error: new LeaseholdError('KIND_MISMATCH', 'no lock') }]
  two.store.always('queue.look', refused)
  two.store.always('queue.acquire', refused)
  await clock.advance(1_000)
  expect(waiting.reason).toMatchObject({ code: 'KIND_MISMATCH', key: 'k' })
})
