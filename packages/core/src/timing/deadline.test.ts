import { getEventListeners } from 'node:events'
import { follow, ManualClock } from '@leasehold/testkit'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { CallDeadline } from './call-deadline.ts'
import { deadline, noAnswer, sleep, withDeadline } from './deadline.ts'

let clock: ManualClock
let caller: AbortController

beforeEach(() => {
  clock = new ManualClock()
  caller = new AbortController()
})

const listeners = (): number => getEventListeners(caller.signal, 'abort').length
const never = (): Promise<never> => new Promise(() => undefined)

describe('deadline', () => {
  it('counts down from when it was made, by whichever clock moved further', async () => {
    const leftMs = deadline(clock, 1_000)
    expect(leftMs()).toBe(1_000)
    await clock.advance(300)
    expect(leftMs()).toBe(700)
    clock.freeze(500)
    expect(leftMs()).toBe(200)
    clock.stepWall(-10_000)
    expect(leftMs()).toBe(700)
    await clock.advance(800)
    expect(leftMs()).toBe(-100)
  })
})

describe('sleep', () => {
  it('ends when its time has passed, not before', async () => {
    const sleeping = follow(sleep(clock, 100), clock)
    await clock.advance(99)
    expect(sleeping.state).toBe('pending')
    await clock.advance(1)
    expect(sleeping).toMatchObject({ state: 'fulfilled', atMs: 100 })
  })

  it('ends sooner when it is woken, and leaves nothing', async () => {
    const withdraw = vi.fn()
    let wake: () => void = () => undefined
    const sleeping = follow(
      sleep(clock, 100, caller.signal, (it) => {
        wake = it
        return withdraw
      }),
      clock,
    )
    await clock.advance(10)
    wake()
    await clock.advance(0)
    expect(sleeping).toMatchObject({ state: 'fulfilled', atMs: 10 })
    expect([clock.pending, listeners(), withdraw.mock.calls.length]).toEqual([0, 0, 1])
  })

  it('ends at once when it is woken while it registers, and leaves nothing', async () => {
    await sleep(clock, 100, caller.signal, (wake) => {
      wake()
      return undefined
    })
    expect([clock.monotonicMs(), clock.pending, listeners()]).toEqual([0, 0, 0])
  })

  it('rejects with the reason itself as soon as it is aborted, and leaves nothing', async () => {
    const withdraw = vi.fn()
    const sleeping = follow(
      sleep(clock, 100, caller.signal, () => withdraw),
      clock,
    )
    await clock.advance(10)
    caller.abort('changed my mind')
    await clock.advance(0)
    expect(sleeping).toMatchObject({ state: 'rejected', reason: 'changed my mind', atMs: 10 })
    expect([clock.pending, listeners(), withdraw.mock.calls.length]).toEqual([0, 0, 1])
  })

  it('does not begin under a signal that is aborted already', async () => {
    caller.abort('too late')
    const listen = vi.fn()
    await expect(sleep(clock, 100, caller.signal, listen)).rejects.toBe('too late')
    expect([clock.pending, listeners(), listen.mock.calls.length]).toEqual([0, 0, 0])
  })

  it('withdraws what it registered when its time has passed, and leaves nothing', async () => {
    const withdraw = vi.fn()
    const sleeping = sleep(clock, 100, caller.signal, () => withdraw)
    await clock.advance(100)
    await sleeping
    expect([clock.pending, listeners(), withdraw.mock.calls.length]).toEqual([0, 0, 1])
  })
})

describe('a call with a deadline', () => {
  it('gives the answer and leaves nothing', async () => {
    let inner: AbortSignal | undefined
    const call = async ({ signal }: CallDeadline): Promise<string> => {
      inner = signal
      expect(signal.aborted).toBe(false)
      return 'answer'
    }
    expect(await withDeadline(clock, 100, call, undefined, caller.signal)).toBe('answer')
    expect([inner?.aborted, clock.pending, listeners()]).toEqual([false, 0, 0])
  })

  it('gives the error of the call, thrown or rejected', async () => {
    const rejects = async (): Promise<never> => {
      await Promise.resolve()
      throw new Error('later')
    }
    const throws = (): never => {
      throw new Error('at once')
    }
    await expect(withDeadline(clock, 100, rejects)).rejects.toThrow('later')
    await expect(withDeadline(clock, 100, throws)).rejects.toThrow('at once')
    expect(clock.pending).toBe(0)
  })

  it('settles when time is up although the call never does', async () => {
    let inner: AbortSignal | undefined
    const calling = follow(
      withDeadline(clock, 100, ({ signal }) => {
        inner = signal
        return never()
      }),
      clock,
    )
    await clock.advance(99)
    expect([calling.state, inner?.aborted]).toEqual(['pending', false])
    await clock.advance(1)
    expect(calling).toMatchObject({ state: 'fulfilled', value: noAnswer, atMs: 100 })
    expect([inner?.aborted, clock.pending]).toEqual([true, 0])
  })

  it('hands on an answer that comes after its time', async () => {
    const onLate = vi.fn()
    const answer = Promise.withResolvers<string>()
    const calling = follow(
      withDeadline(clock, 100, () => answer.promise, onLate),
      clock,
    )
    await clock.advance(100)
    expect(calling.value).toBe(noAnswer)
    answer.resolve('late')
    await clock.advance(0)
    expect(onLate.mock.calls).toEqual([['late']])
  })

  it('does not hand on an answer that came in time', async () => {
    const onLate = vi.fn()
    await withDeadline(clock, 100, async () => 'in time', onLate)
    await clock.advance(1_000)
    expect(onLate).not.toHaveBeenCalled()
  })

  it('drops an error that comes after its time', async () => {
    const onLate = vi.fn()
    const answer = Promise.withResolvers<string>()
    const calling = follow(
      withDeadline(clock, 100, () => answer.promise, onLate),
      clock,
    )
    await clock.advance(100)
    answer.reject(new Error('late'))
    await clock.advance(0)
    expect(calling.value).toBe(noAnswer)
    expect(onLate).not.toHaveBeenCalled()
  })

  it('rejects with the reason itself as soon as it is aborted, and still hands on the late answer', async () => {
    const onLate = vi.fn()
    const answer = Promise.withResolvers<string>()
    const reason = { my: 'own' }
    const calling = follow(
      withDeadline(clock, 100, () => answer.promise, onLate, caller.signal),
      clock,
    )
    await clock.advance(20)
    caller.abort(reason)
    await clock.advance(0)
    expect(calling).toMatchObject({ state: 'rejected', atMs: 20 })
    expect(calling.reason).toBe(reason)
    expect([clock.pending, listeners()]).toEqual([0, 0])
    answer.resolve('granted after all')
    await clock.advance(0)
    expect(onLate.mock.calls).toEqual([['granted after all']])
  })

  it('is not made under a signal that is aborted already', async () => {
    caller.abort('too late')
    const call = vi.fn(never)
    await expect(withDeadline(clock, 100, call, undefined, caller.signal)).rejects.toBe('too late')
    expect(call).not.toHaveBeenCalled()
  })
})
