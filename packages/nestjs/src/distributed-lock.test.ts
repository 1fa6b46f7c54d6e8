import { type Locker, StoreUnavailableError } from '@leasehold/core'
import { currentLease, DistributedLock, type DistributedLockOptions, LockContendedException } from '@leasehold/nestjs'
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

type Options<Method> = Partial<DistributedLockOptions<{ locks: Locker }, never, Method>> & object

/** An instance whose method `run` is guarded. */
function guarded(work: (...args: string[]) => Promise<unknown>, options: Options<unknown>) {
  class Jobs {
    readonly locks = locks
    async run(...args: string[]): Promise<unknown> {
      return work(...args)
    }
  }
  const all = { locks: (self: Jobs) => self.locks, key: 'k', ...options } as DistributedLockOptions<Jobs, never, 409>
  decorate(Jobs, 'run', DistributedLock<Jobs, never>(all))
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

  it.each([
    ['ttl', { ttl: -1 }],
    ['holdAtLeast', { holdAtLeast: 'soon' }],
    ['retries', { retries: 3 }],
  ])('with a mistake in %s is told when its class is made', (option, options) => {
    expect(() => guarded(never, options as object)).toThrow(expect.objectContaining({ option }))
  })

  it('is a method of an instance, and nothing else', () => {
    const decorateStatic = DistributedLock<never, never>({ locks: () => locks, key: 'k' })
    const statics = { prototype: {}, run: async (): Promise<void> => undefined }
    const descriptor = Object.getOwnPropertyDescriptor(statics, 'run')
    const type = Object.assign(() => undefined, statics)
    expect(() => decorateStatic(type as never, 'run', descriptor as never)).toThrow('a method of an instance')
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
})
