import { replyAfter, replyLost, requestAfter, requestLost } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import { queueing } from '../../test/queueing.ts'
import { Call } from '../timing/call-deadline.ts'

describe('a queued waiter is granted', () => {
  it('within a recheck although no message is delivered', async () => {
    const { clock, process } = queueing()
    const [one, two] = [process(), process()]
    const held = await one.locks.acquire('k')
    two.isDeaf = true
    const waiting = two.queue()
    await clock.advance(5_500)
    await held.release()
    await clock.advance(1_000)
    expect(waiting.state).toBe('fulfilled')
    expect(waiting.atMs).toBeLessThanOrEqual(6_500)
  })

  it('when the holder has died, as soon as its lease has ended', async () => {
    const { clock, process } = queueing()
    const [one, two] = [process({ renew: false, ttl: '700ms' }), process()]
    await one.locks.acquire('k')
    const waiting = two.queue()
    await clock.advance(800)
    expect(waiting).toMatchObject({ state: 'fulfilled', atMs: 705 })
  })

  it('by a turn that overtakes the answer to its enqueue', async () => {
    const { clock, process } = queueing()
    const [one, two] = [process(), process()]
    const held = await one.locks.acquire('k')
    await two.keepInbox()
    two.store.next('queue.acquire', replyAfter(300))
    two.store.always('queue.look', requestLost)
    const waiting = two.queue()
    await clock.advance(100)
    await held.release()
    await clock.advance(250)
    expect(waiting).toMatchObject({ state: 'fulfilled', atMs: 300 })
    expect(waiting.value?.commands).toBe(2)
  })

  it('its own lease, if the answer that granted it was lost', async () => {
    const { clock, process } = queueing()
    const [one, two] = [process(), process()]
    const held = await one.locks.acquire('k')
    const waiting = two.queue()
    await clock.advance(100)
    two.store.next('queue.acquire', replyLost)
    await held.release()
    await clock.advance(1_200)
    expect(waiting).toMatchObject({ state: 'fulfilled', atMs: 1_100 })
    // It counts from the try that was answered, and so does the entry in the store.
    expect(waiting.value?.remaining()).toBe(10_000 - 102 - 200)
    expect(waiting.value?.commands).toBe(4)
  })

  it('no lease that has too little time left: it gives that back and enters again', async () => {
    const { clock, process } = queueing()
    const [one, two] = [process(), process()]
    const held = await one.locks.acquire('k')
    await two.keepInbox()
    two.store.next('queue.acquire', replyAfter(0), replyAfter(1_500), replyAfter(1_500))
    const waiting = two.queue({ ttl: '10s', minValidity: '9s', renew: false })
    await clock.advance(100)
    await held.release()
    await clock.advance(2_000)
    expect(waiting).toMatchObject({ state: 'fulfilled', atMs: 1_600 })
    expect(waiting.value?.remaining()).toBe(10_000 - 102 - 500)
    await waiting.value?.release()
    expect(await one.locks.isLocked('k')).toBe(false)
    expect(two.store.called('release')).toEqual([])
  })

  it('in its new place, however late what came too late is given back', async () => {
    const { clock, process } = queueing()
    const [two, three] = [process(), process()]
    await two.keepInbox()
    two.store.next('queue.acquire', replyAfter(1_500), replyAfter(1_500))
    two.store.always('queue.leave', requestAfter(100))
    const waiting = two.queue({ ttl: '10s', minValidity: '9s', renew: false })
    await clock.advance(1_550)
    // It is in the queue again, behind its own former grant.
    const next = three.queue()
    await clock.advance(100)
    expect(waiting.state).toBe('fulfilled')
    expect(next.state).toBe('pending')
    await waiting.value?.release()
    await clock.advance(0)
    expect(next.state).toBe('fulfilled')
  })

  it('after an answer that its grant is spent, with a new acquisition id and the same name', async () => {
    const { clock, memory, process } = queueing()
    const one = process()
    await one.keepInbox()
    one.store.next('queue.acquire', async ({ execute, requests }) => {
      // Granted, and gone again before the answer to the second try.
      await execute()
      const [{ acquisitionId = '' } = {}] = requests
      await memory.release([{ key: 'k', acquisitionId }], call)
      return execute()
    })
    const waiting = one.queue()
    await clock.advance(100)
    expect(waiting.state).toBe('fulfilled')
    const [first, second] = one.store.called('queue.acquire').map(({ requests: [request] }) => request)
    expect(second?.acquisitionId).not.toBe(first?.acquisitionId)
    expect(second?.waiter).toMatchObject({ inbox: first?.waiter?.inbox, number: first?.waiter?.number })
  })

  it('when it had fallen out of the queue: a look tells it, and it enters again', async () => {
    const { clock, process } = queueing()
    const [one, frozen, three] = [process(), process(), process()]
    const held = await one.locks.acquire('k')
    const missed = [frozen.queue(), frozen.queue()]
    await clock.advance(10)
    const patient = three.queue({ renew: true })
    await clock.advance(10)
    frozen.isDeaf = true
    for (const name of ['queue.acquire', 'queue.look'] as const) frozen.store.always(name, requestLost)
    await held.release()
    // Its turn costs the others one window, and not one for each of its waiters.
    await clock.advance(4_100)
    expect(patient.state).toBe('fulfilled')
    for (const name of ['queue.acquire', 'queue.look'] as const) frozen.store.always(name, replyAfter(0))
    await clock.advance(2_000)
    await patient.value?.release()
    await clock.advance(1_100)
    expect(missed[0]?.state).toBe('fulfilled')
    await missed[0]?.value?.release()
    await clock.advance(1_100)
    expect(missed[1]?.state).toBe('fulfilled')
  })

  it('behind a holder that does not queue, as soon as that gives the lock back', async () => {
    const { clock, process } = queueing()
    const [plain, two] = [process({ queue: undefined }), process()]
    const held = await plain.locks.acquire('k')
    const waiting = two.queue()
    await clock.advance(300)
    await held.release()
    await clock.advance(0)
    expect(waiting).toMatchObject({ state: 'fulfilled', atMs: 300 })
  })

  it('after one that does not queue has taken the lock during its turn', async () => {
    const { clock, process } = queueing()
    const [one, plain] = [process(), process({ queue: undefined })]
    const held = await one.locks.acquire('k')
    const waiting = one.queue()
    await clock.advance(10)
    one.store.next('queue.acquire', requestAfter(50))
    await held.release()
    const barged = await plain.locks.acquire('k')
    await clock.advance(100)
    expect(waiting.state).toBe('pending')
    await barged.release()
    await clock.advance(20)
    expect(waiting.state).toBe('fulfilled')
  })
})

describe('a queued waiter whose tries stay unanswered', () => {
  it('only looks after two of them, because each try may extend a lease that nobody knows of', async () => {
    const { clock, process } = queueing()
    const one = process()
    await one.keepInbox()
    one.store.always('queue.acquire', requestLost)
    one.store.always('queue.look', requestLost)
    one.queue({ wait: '6s' })
    await clock.advance(5_500)
    expect(one.store.called('queue.acquire')).toHaveLength(2)
    expect(one.store.called('queue.look').filter(({ requests: [request] }) => request?.key === 'k')).toHaveLength(4)
  })

  it('is told that the store is unavailable, and not that the lock is held', async () => {
    const { clock, process } = queueing()
    const [one, two] = [process(), process()]
    await one.locks.acquire('k')
    const waiting = two.queue({ wait: '5s' })
    await clock.advance(100)
    two.store.always('queue.look', requestLost)
    await clock.advance(5_000)
    expect(waiting.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', key: 'k' })
  })

  it('is told that the lock is held if its own try was answered since', async () => {
    const { clock, process } = queueing()
    const [one, two] = [process(), process()]
    await one.locks.acquire('k')
    two.queue()
    await clock.advance(100)
    two.store.always('queue.look', requestLost)
    await clock.advance(2_400)
    const waiting = two.queue({ wait: '200ms' })
    await clock.advance(200)
    expect(waiting.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
  })

  it('is told that the lock is held if the store has answered again', async () => {
    const { clock, process } = queueing()
    const [one, two] = [process({ name: 'one' }), process()]
    await one.locks.acquire('k')
    const waiting = two.queue({ wait: '5s' })
    await clock.advance(100)
    two.store.next('queue.look', requestLost, requestLost)
    await clock.advance(5_000)
    expect(waiting.reason).toMatchObject({
      code: 'ACQUIRE_TIMEOUT',
      key: 'k',
      holder: 'one',
      waitedMs: 5_000,
      commands: 2,
    })
  })
})

const call = new Call(1_000)
