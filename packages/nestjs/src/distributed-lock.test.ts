import { type Locker, StoreUnavailableError } from '@leasehold/core'
import {
  ApplicationClosingException,
  currentLease,
  DistributedLock,
  type DistributedLockOptions,
  LockContendedException,
} from '@leasehold/nestjs'
import { follow, requestLost, testLocker } from '@leasehold/testkit'
import { Logger, SetMetadata } from '@nestjs/common'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { decorate } from '../test/decorated.ts'

const setUp = () => testLocker({ name: 'here' })
let { locks, elsewhere, store, clock } = setUp()
beforeEach(() => {
  ;({ locks, elsewhere, store, clock } = setUp())
})
afterEach(() => {
  vi.restoreAllMocks()
})

type Run = (...args: string[]) => Promise<unknown>
type Options = Partial<DistributedLockOptions<{ locks: Locker }, Run>>

/** An instance whose method `run` is guarded. */
function guarded(work: (...args: string[]) => Promise<unknown>, options: Options) {
  class Jobs {
    readonly locks = locks
    async run(...args: string[]): Promise<unknown> {
      return work(...args)
    }
  }
  const all = { locks: (self: Jobs) => self.locks, key: 'k', ...options } as DistributedLockOptions<Jobs, Run>
  decorate(Jobs, 'run', DistributedLock<Jobs, Run>(all))
  return new Jobs()
}
const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'no error',
    (error: unknown) => error,
  )
const never = (): never => {
  throw new Error('It must not run')
}

describe('a guarded method', () => {
  it('runs under the lock of its arguments, and knows its lease', async () => {
    const jobs = guarded(
      async (id) => {
        await clock.advance(1)
        return [await elsewhere.isLocked(`order:${id}`), currentLease()?.key]
      },
      { key: (id: string) => `order:${id}` },
    )
    expect(await jobs.run('7')).toEqual([true, 'order:7'])
    expect([await elsewhere.isLocked('order:7'), currentLease()]).toEqual([false, undefined])
  })

  it('keeps the metadata of the decorators below it and above it, and its name', async () => {
    class Jobs {
      async run(_id: string): Promise<void> {
        return undefined
      }
    }
    const guard = DistributedLock<Jobs, Jobs['run']>({ locks: () => locks, key: 'k' })
    decorate(Jobs, 'run', SetMetadata('above', 1), guard, SetMetadata('below', 2))
    const { run } = Jobs.prototype
    expect([Reflect.getMetadata('above', run), Reflect.getMetadata('below', run), run.name]).toEqual([1, 2, 'run'])
  })

  it('that is contended is a 409 or a 423, with the failure message, and with its cause', async () => {
    await elsewhere.acquire('k')
    for (const [onContended, status, error] of [
      [undefined, 409, 'Conflict'],
      [423, 423, 'Locked'],
    ] as const) {
      const call = follow(guarded(never, { wait: '3s', failureMessage: 'Busy', onContended }).run(), clock)
      await clock.advance(3_000)
      const exception = call.reason as LockContendedException
      expect(exception).toBeInstanceOf(LockContendedException)
      expect([exception.getStatus(), exception.message, exception.key]).toEqual([status, 'Busy', 'k'])
      expect(exception.getResponse()).toEqual({ statusCode: status, message: 'Busy', error })
      expect(exception.cause.cause.waitedMs).toBe(3_000)
    }
  })

  it('that is contended is answered in its place, if you say how', async () => {
    await elsewhere.acquire('k')
    expect(await guarded(never, { wait: 0, onContended: ({ key }: { key: string }) => `${key} is busy` }).run()).toBe(
      'k is busy',
    )
  })

  it('whose store does not answer is not contended', async () => {
    store.always('acquire', requestLost)
    const call = follow(guarded(never, { wait: '1s', onContended: 'skip' }).run(), clock)
    await clock.advance(10_000)
    expect(call.reason).toBeInstanceOf(StoreUnavailableError)
  })

  it('whose own work meets contention is not skipped', async () => {
    await elsewhere.acquire('other')
    const inner = guarded(never, { key: 'other', wait: 0 })
    expect(await rejection(guarded(() => inner.run(), { onContended: 'skip' }).run())).toMatchObject({ key: 'other' })
  })

  it('of an instance that Nest has not made says so', async () => {
    expect(await rejection(guarded(never, { locks: undefined }).run())).toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('Jobs was not made by Nest'),
    })
  })

  it('that is contended tells clients nothing of who holds what, and operators all', async () => {
    await elsewhere.acquire('k')
    const exception = (await rejection(guarded(never, { wait: 0 }).run())) as LockContendedException
    const message = 'Somebody else holds the lock; try again'
    expect(exception.message).toBe(message)
    expect(exception.getResponse()).toEqual({ statusCode: 409, message, error: 'Conflict' })
    expect(exception.cause.message).toMatch(/^Lock "k" is held by another holder/)
  })

  it.each([
    ['ttl', { ttl: -1 }, '-1'],
    ['holdAtLeast', { holdAtLeast: 'soon' }, '"soon"'],
    ['retries', { retries: 3 }, '3'],
    ['onContended', { onContended: 429 }, '429'],
    ['onOverrun', { onOverrun: 'warn' }, '"warn"'],
    ['key', { key: '' }, '""'],
    ['key', { key: undefined }, 'undefined'],
  ])('with a mistake in %s is told when its class is made, by its name', (option, options, value) => {
    const message = expect.stringMatching(`^Option "${option}" of @DistributedLock at Jobs.run .*; it is ${value}$`)
    expect(() => guarded(never, options as object)).toThrow(expect.objectContaining({ option, message }))
  })

  it('whose key turns out to be none is told so, by its name', async () => {
    const key = (id?: string): string => id as string
    const error = await rejection(guarded(never, { key }).run())
    const message = expect.stringMatching(/^Option "key" of @DistributedLock at Jobs.run must be .*; it is undefined$/)
    expect(error).toMatchObject({ option: 'key', message })
  })

  it('is a method of an instance, and nothing else', () => {
    const decorateStatic = DistributedLock<never, never>({ locks: () => locks, key: 'k' })
    const statics = { prototype: {}, run: async (): Promise<void> => undefined }
    const descriptor = Object.getOwnPropertyDescriptor(statics, 'run')
    const type = Object.assign(() => undefined, statics)
    expect(() => decorateStatic(type as never, 'run', descriptor as never)).toThrow('a method of an instance')
  })
})

describe('when the application closes, a guarded method', () => {
  it('that waits, or is called, is answered with 503', async () => {
    await elsewhere.acquire('k')
    const waiting = follow(guarded(never, { wait: '10s' }).run(), clock)
    await expect.poll(() => store.called('acquire').length).toBeGreaterThan(1)
    await locks.close()
    const exceptions = [waiting.reason, await rejection(guarded(never, {}).run())]
    for (const exception of exceptions as ApplicationClosingException[]) {
      expect(exception).toBeInstanceOf(ApplicationClosingException)
      const body = { statusCode: 503, message: 'The application is closing; try again', error: 'Service Unavailable' }
      expect([exception.getStatus(), exception.getResponse(), exception.cause.code]).toEqual([503, body, 'CLOSED'])
    }
  })

  it('that may be skipped is skipped, with and without a time that its lock is held', async () => {
    await locks.close()
    for (const holdAtLeast of [undefined, '30s'] as const) {
      expect(await guarded(never, { onContended: 'skip', holdAtLeast }).run()).toBeUndefined()
    }
  })

  it('that meets another closed locker has an error of its own', async () => {
    await elsewhere.close()
    const job = guarded(() => elsewhere.acquire('other'), { onContended: 'skip' })
    expect(await rejection(job.run())).toMatchObject({ code: 'CLOSED' })
  })

  it('that outlasts the grace is warned of when its lock is given back, and its signal fires', async () => {
    const warn = vi.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined)
    const gate = Promise.withResolvers<void>()
    let signal: AbortSignal | undefined
    const work = async (): Promise<void> => {
      signal = currentLease()?.signal
      await gate.promise
    }
    const running = rejection(guarded(work, {}).run())
    await expect.poll(() => signal).toBeDefined()
    const closing = follow(locks.close({ grace: '5s' }), clock)
    await clock.advance(4_999)
    expect([signal?.aborted, warn.mock.calls]).toEqual([false, []])
    await clock.advance(1)
    expect(signal?.aborted).toBe(true)
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(
        /^Jobs\.run still runs, and the grace of the closing application is over: .* \(lock "k"\)$/,
      ),
    )
    gate.resolve()
    expect(await running).toMatchObject({ code: 'LEASE_LOST', reason: 'closed' })
    await expect.poll(() => closing.state).toBe('fulfilled')
  })

  it('that loses its lease in another way is not warned of', async () => {
    const warn = vi.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined)
    const job = guarded(async () => (await locks.revoke('k')) && currentLease()?.assertValid(), {})
    expect(await rejection(job.run())).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
    expect(warn).not.toHaveBeenCalled()
  })
})

describe('a job that several instances fire', () => {
  const skipping = { wait: 0, onContended: 'skip', holdAtLeast: '30s' } as const

  it('runs in one of them, though it is done before the others fire it', async () => {
    let runs = 0
    const job = async (): Promise<unknown> => ++runs
    const there = guarded(job, { ...skipping, locks: () => elsewhere })
    expect([await guarded(job, skipping).run(), await there.run(), runs]).toEqual([1, undefined, 1])
    await clock.advance(30_000)
    expect(await there.run()).toBe(2)
  })

  it('that outlasts its interval is warned of by the instance that still runs it, and by no other', async () => {
    const warn = vi.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined)
    const gate = Promise.withResolvers<void>()
    const jobs = guarded(() => gate.promise, skipping)
    const first = jobs.run()
    await expect.poll(() => elsewhere.isLocked('k')).toBe(true)
    await guarded(never, { ...skipping, locks: () => elsewhere }).run()
    expect(warn).not.toHaveBeenCalled()
    await jobs.run()
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(/^Jobs\.run is due and skipped: its last run, under way for .* has outlasted the interval/),
    )
    gate.resolve()
    await first
    await jobs.run()
    expect(warn).toHaveBeenCalledOnce()
  })

  it('that outlasts its interval is told as you say, however it answers, instead of being warned of', async () => {
    const warn = vi.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined)
    const gate = Promise.withResolvers<void>()
    for (const onContended of ['skip', 409] as const) {
      const told: unknown[] = []
      const key = `k:${onContended}`
      const jobs = guarded(() => gate.promise, {
        key,
        wait: 0,
        onContended,
        onOverrun: (overrun) => told.push(overrun),
      })
      void jobs.run()
      await expect.poll(() => elsewhere.isLocked(key)).toBe(true)
      await rejection(jobs.run())
      expect([told, warn.mock.calls]).toEqual([[{ key, runningMs: expect.any(Number) }], []])
    }
    gate.resolve()
  })
})
