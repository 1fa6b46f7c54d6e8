import { answered, callUntil, type Fate, follow, replyLost, requestAfter, requestLost } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import { type Queueing, queueing } from '../../test/queueing.ts'
import { queueOf } from './index.ts'

/** Carried out late, and the answer never comes. */
const lateAndUnheard =
  (ms: number): Fate =>
  async (sending) => {
    sending.clock.schedule(() => void sending.execute(), ms)
    return requestLost(sending)
  }

/** How many are in the queue of `k`. */
async function waiting({ memory }: Queueing): Promise<number> {
  const state = await queueOf(memory)?.inspect('k', callUntil(new AbortController().signal))
  return state?.type === 'state' ? state.waiting : Number.NaN
}

describe('a waiter that gives up leaves the queue', () => {
  it.each(['abort', 'timeout', 'budget', 'close'])('at once, by %s', async (how) => {
    const all = queueing()
    const { clock } = all
    const [one, two] = [all.process({ name: 'one' }), all.process()]
    await one.locks.acquire('k')
    const stop = new AbortController()
    const gone = two.queue({ wait: '3s', signal: stop.signal, budget: how === 'budget' ? 2 : 10 })
    await clock.advance(0)
    if (how !== 'budget') expect(await waiting(all)).toBe(1)
    if (how === 'abort') stop.abort('enough')
    if (how === 'timeout') await clock.advance(3_000)
    if (how === 'close') void two.locks.close()
    await clock.advance(0)
    expect(await waiting(all)).toBe(0)
    expect(two.store.called('queue.leave')).toHaveLength(1)
    const codes = {
      abort: 'enough',
      timeout: { code: 'ACQUIRE_TIMEOUT' },
      budget: { code: 'ACQUIRE_TIMEOUT' },
      close: { code: 'CLOSED' },
    }
    const expected = codes[how as keyof typeof codes]
    expect(gone.reason).toEqual(typeof expected === 'string' ? expected : expect.objectContaining(expected))
    await clock.advance(0)
    expect(two.clock.timers.filter(({ background }) => !background)).toEqual([])
  })

  it('although the leave is lost: it is repeated', async () => {
    const all = queueing()
    const { clock } = all
    const [one, two] = [all.process(), all.process()]
    await one.locks.acquire('k')
    two.store.next('queue.leave', requestLost, requestLost, requestLost)
    two.queue({ wait: '1s' })
    await clock.advance(4_500)
    expect(await waiting(all)).toBe(0)
  })

  it('although its try arrives after its leave', async () => {
    const all = queueing()
    const { clock } = all
    const [one, two] = [all.process(), all.process()]
    await one.locks.acquire('k')
    await two.keepInbox()
    two.store.next('queue.acquire', requestAfter(800))
    const stop = new AbortController()
    two.queue({ signal: stop.signal })
    await clock.advance(100)
    stop.abort()
    await clock.advance(750)
    expect(await waiting(all)).toBe(0)
    await clock.advance(5_000)
    expect(await waiting(all)).toBe(0)
  })

  it('although its try arrives after its leave, and the answer to that is lost', async () => {
    const all = queueing()
    const { clock } = all
    const [one, two] = [all.process(), all.process()]
    const held = await one.locks.acquire('k')
    await two.keepInbox()
    two.store.next('queue.acquire', lateAndUnheard(800))
    const stop = new AbortController()
    two.queue({ signal: stop.signal })
    await clock.advance(100)
    stop.abort()
    await clock.advance(750)
    expect(await waiting(all)).toBe(1)
    await clock.advance(1_500)
    expect(await waiting(all)).toBe(0)
    await held.release()
  })

  it('at once when it hears of a turn that such a try has brought it', async () => {
    const all = queueing()
    const { clock } = all
    const [one, two] = [all.process(), all.process()]
    const held = await one.locks.acquire('k')
    await two.keepInbox()
    two.store.next('queue.acquire', lateAndUnheard(800))
    const stop = new AbortController()
    two.queue({ signal: stop.signal })
    await clock.advance(100)
    stop.abort()
    await clock.advance(750)
    expect(await waiting(all)).toBe(1)
    await held.release()
    await clock.advance(0)
    expect(await waiting(all)).toBe(0)
  })

  it('and gives back the lock that a try has taken whose answer was lost', async () => {
    const all = queueing()
    const { clock } = all
    const one = all.process()
    one.store.always('queue.acquire', replyLost)
    one.store.always('queue.look', replyLost)
    const stop = new AbortController()
    const gone = one.queue({ signal: stop.signal, ttl: '1h', renew: false })
    await clock.advance(100)
    expect(await one.locks.isLocked('k')).toBe(true)
    stop.abort('enough')
    await clock.advance(0)
    expect(gone.reason).toBe('enough')
    expect(await one.locks.isLocked('k')).toBe(false)
    expect(one.store.called('queue.leave')).toHaveLength(1)
  })

  it('and the turn goes to the next, also if it leaves during its own', async () => {
    const all = queueing()
    const { clock } = all
    const [one, two] = [all.process(), all.process()]
    const held = await one.locks.acquire('k')
    const stop = new AbortController()
    two.queue({ signal: stop.signal })
    await clock.advance(0)
    const next = one.queue()
    await clock.advance(0)
    two.isDeaf = true
    await held.release()
    await clock.advance(100)
    expect(next.state).toBe('pending')
    stop.abort()
    await clock.advance(0)
    expect(next.state).toBe('fulfilled')
  })
})

it('a call that gives up is told who has the lock, and whether that is its own locker', async () => {
  const { clock, process } = queueing()
  const [one, two] = [process({ name: 'one' }), process()]
  const held = await one.locks.acquire('k')
  const gone = [one.queue({ wait: '1s' }), two.queue({ wait: '1s' })]
  await clock.advance(1_000)
  expect(gone[0]?.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', holder: 'one', heldHere: true })
  expect(gone[1]?.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', holder: 'one', heldHere: false })
  await held.release()
  await two.locks.acquire('k')
  const later = one.queue({ wait: '1s' })
  await clock.advance(1_000)
  expect(later.reason).toMatchObject({ heldHere: false })
})

it('a turn that nobody wants is given back at once: a doubled request had entered who was gone', async () => {
  const all = queueing()
  const { clock } = all
  const [one, two] = [all.process(), all.process()]
  const held = await one.locks.acquire('k')
  // Another wait of the process keeps its inbox open.
  await one.locks.acquire('other')
  follow(two.locks.acquire('other'), clock)
  await clock.advance(0)
  let repeat: (() => Promise<unknown>) | undefined
  two.store.next('queue.acquire', ({ execute }) => {
    repeat = execute
    return execute()
  })
  const stop = new AbortController()
  two.queue({ signal: stop.signal })
  await clock.advance(0)
  stop.abort()
  await clock.advance(0)
  await repeat?.()
  const next = one.queue()
  await clock.advance(0)
  expect(await waiting(all)).toBe(2)
  await held.release()
  await clock.advance(0)
  expect(next.state).toBe('fulfilled')
})

it('a turn that nobody wants is found by a look, if nobody heard of it', async () => {
  const all = queueing()
  const { clock } = all
  const [one, two] = [all.process(), all.process()]
  const held = await one.locks.acquire('k')
  await two.keepInbox()
  let repeat: (() => Promise<unknown>) | undefined
  two.store.next('queue.acquire', ({ execute }) => {
    repeat = execute
    return execute()
  })
  const stop = new AbortController()
  two.queue({ signal: stop.signal })
  await clock.advance(0)
  stop.abort()
  await clock.advance(0)
  await repeat?.()
  const next = two.queue()
  await clock.advance(100)
  two.isDeaf = true
  await held.release()
  await clock.advance(1_100)
  two.isDeaf = false
  await clock.advance(1_000)
  expect(next.state).toBe('fulfilled')
})

/** Lets the first try be carried out after the second has got the lease. Resolves once the lease is there. */
async function lateTry({ clock, process }: Queueing, late: Fate) {
  const one = process()
  await one.keepInbox()
  one.store.next('queue.acquire', late)
  const holding = one.queue({ renew: false, ttl: '10s' })
  await clock.advance(1_500)
  expect(holding.state).toBe('fulfilled')
  return { one, lease: holding.value }
}

it('a late try enters a waiter that has had its lease: it leaves, so that nobody waits for a free lock', async () => {
  const all = queueing()
  const { clock } = all
  const { lease } = await lateTry(all, requestAfter(2_600))
  await lease?.release()
  const two = all.process()
  const held = await two.locks.acquire('k')
  await clock.advance(1_200)
  const next = two.queue()
  await clock.advance(100)
  expect(await waiting(all)).toBe(1)
  await held.release()
  await clock.advance(0)
  expect(next.state).toBe('fulfilled')
})

it('a late try enters a waiter that has its lease, after that was revoked: it leaves, and another keeps the lock', async () => {
  const all = queueing()
  const { clock } = all
  const { one } = await lateTry(all, requestAfter(2_600))
  const two = all.process()
  await two.locks.revoke('k')
  const held = await two.locks.acquire('k')
  await clock.advance(1_200)
  expect(one.store.called('queue.leave')).toHaveLength(1)
  expect(await waiting(all)).toBe(0)
  expect(await one.locks.isLocked('k')).toBe(true)
  expect(held.signal.aborted).toBe(false)
})

it('a leave for a late try leaves the lease that the waiter has', async () => {
  const all = queueing()
  const { clock } = all
  // Answers like a try with an earlier acquisition id.
  const queued: Fate = async ({ execute, clock: at }) => {
    await new Promise<void>((resolve) => at.schedule(resolve, 2_600))
    await execute()
    return [{ type: 'queued', position: 0, againInMs: null, holder: null }] as never
  }
  const { one, lease } = await lateTry(all, queued)
  await clock.advance(1_200)
  expect(one.store.called('queue.leave')).toHaveLength(1)
  expect(await one.locks.isLocked('k')).toBe(true)
  expect(lease?.signal.aborted).toBe(false)
})

it('a turn that a late try brings is given back, although the process has had no waiter since', async () => {
  const all = queueing()
  const { clock } = all
  const [one, two] = [all.process(), all.process()]
  const held = await one.locks.acquire('k')
  // Granted or not, nobody hears of the first try that enters.
  two.store.next('queue.acquire', answered, lateAndUnheard(5_000))
  const stop = new AbortController()
  two.queue({ signal: stop.signal })
  await clock.advance(100)
  stop.abort()
  await clock.advance(5_000)
  expect(await waiting(all)).toBe(1)
  const next = one.queue()
  await two.keepInbox()
  await held.release()
  await clock.advance(0)
  expect(next.state).toBe('fulfilled')
})

it('nothing is left after the last waiter: no timer, no listener, nothing that is sent', async () => {
  const all = queueing()
  const { clock, memory } = all
  const listeners = new Set<unknown>()
  const [one, two] = [all.process(), all.process()]
  for (const listen of ['listen', 'listenInbox'] as const) {
    const behind = memory[listen].bind(memory)
    memory[listen] = (name, listener) => {
      const stop = behind(name, listener)
      listeners.add(stop)
      return () => {
        listeners.delete(stop)
        stop()
      }
    }
  }
  const held = await one.locks.acquire('k', { renew: false, ttl: '1h', longHeld: '1h' })
  const idle = clock.pending
  const stop = new AbortController()
  for (let each = 0; each < 20; each++) two.queue({ signal: stop.signal })
  await clock.advance(2_500)
  expect(listeners.size).toBe(2)
  stop.abort()
  await clock.advance(0)
  expect(listeners.size).toBe(0)
  expect(clock.pending).toBe(idle)
  two.commands()
  await held.release()
  await clock.advance(60_000)
  expect(two.commands()).toEqual([])
  expect(await one.locks.tryAcquire('k')).not.toBeNull()
})
