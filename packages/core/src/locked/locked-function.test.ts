import {
  AcquireTimeoutError,
  InvalidOptionError,
  LeaseLostError,
  type Locker,
  StoreUnavailableError,
  systemClock,
} from '@leasehold/core'
import { LockContendedError, type LockedOptions, lockedFunction, type Overrun } from '@leasehold/core/locked'
import { holdAtLeast } from '@leasehold/core/schedule'
import { follow, requestLost, testLocker } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const setUp = () => testLocker({ name: 'here' })
let { locks, elsewhere, store, clock } = setUp()
beforeEach(() => {
  ;({ locks, elsewhere, store, clock } = setUp())
})

const orderKey = (userId: string, productId: string): string => `order:${userId}:${productId}`
const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'no error',
    (error: unknown) => error,
  )

describe('a locked function', () => {
  it('holds the lock of its arguments while it runs, and gives it back', async () => {
    const seen: unknown[] = []
    const process = async (userId: string, productId: string): Promise<string> => {
      seen.push(await elsewhere.inspect(`order:${userId}:${productId}`))
      return 'done'
    }
    expect(await lockedFunction(process, { locks, key: orderKey, ttl: '30s' })('u', 'p')).toBe('done')
    expect(seen).toEqual([expect.objectContaining({ held: true, holder: 'here', expiresInMs: 30_000 })])
    expect(await elsewhere.isLocked('order:u:p')).toBe(false)
  })

  it('gives the lock back when it throws, at once or later, and rejects with what it threw', async () => {
    const sync = lockedFunction(
      () => {
        throw new Error('at once')
      },
      { locks, key: 'k' },
    )
    const later = lockedFunction(() => Promise.reject(new Error('later')), { locks, key: 'k' })
    await expect(sync()).rejects.toThrow('at once')
    await expect(later()).rejects.toThrow('later')
    expect(await elsewhere.isLocked('k')).toBe(false)
  })

  it('has the name, the length and the `this` of the function', async () => {
    const shop = {
      locks,
      tenant: 'acme',
      charge: lockedFunction(
        function charge(this: { locks: Locker; tenant: string }, amount: number, _note?: string) {
          return [this.tenant, amount]
        },
        {
          locks: (self) => self.locks,
          key(amount) {
            return `${this.tenant}:${amount}`
          },
        },
      ),
    }
    expect([shop.charge.name, shop.charge.length]).toEqual(['charge', 2])
    expect(await shop.charge(7)).toEqual(['acme', 7])
    expect(store.called('acquire').map(({ requests }) => requests[0]?.key)).toEqual(['acme:7'])
  })

  it('runs for one caller of a key at a time, and for other keys meanwhile', async () => {
    let running = 0
    const most: number[] = []
    const work = lockedFunction(
      async (_key: string) => {
        most.push(++running)
        await new Promise((resolve) => clock.schedule(() => resolve(undefined), 100))
        running--
      },
      { locks, key: (key) => key },
    )
    const same = follow(Promise.all([work('a'), work('a')]), clock)
    await clock.advance(200)
    expect([same.state, most]).toEqual(['fulfilled', [1, 1]])
    const others = follow(Promise.all([work('a'), work('b')]), clock)
    await clock.advance(100)
    expect([others.state, most]).toEqual(['fulfilled', [1, 1, 1, 2]])
  })
})

describe('contention', () => {
  const never = (): string => {
    throw new Error('It must not run')
  }

  it('is an error with the failure message, the key, and the timeout as its cause', async () => {
    await elsewhere.acquire('k')
    const call = follow(lockedFunction(never, { locks, key: 'k', wait: '3s', failureMessage: 'Busy' })(), clock)
    await clock.advance(2_999)
    expect(call.state).toBe('pending')
    await clock.advance(1)
    const { reason } = call
    expect(reason).toBeInstanceOf(LockContendedError)
    expect(reason).not.toBeInstanceOf(AcquireTimeoutError)
    expect(reason).toMatchObject({ code: 'CONTENDED', message: 'Busy', key: 'k' })
    expect((reason as LockContendedError).cause).toBeInstanceOf(AcquireTimeoutError)
    expect((reason as LockContendedError).cause.waitedMs).toBe(3_000)
    expect(JSON.parse(JSON.stringify(reason))).toMatchObject({ code: 'CONTENDED', message: 'Busy', key: 'k' })
  })

  it('has a message made of the arguments, or that of its cause', async () => {
    await elsewhere.acquire('k')
    const of = (id: string): string => `${id} is busy`
    const told = lockedFunction((_id: string) => never(), { locks, key: 'k', wait: 0, failureMessage: of })
    expect(await rejection(told('17'))).toMatchObject({ message: '17 is busy' })
    const silent = (await rejection(lockedFunction(never, { locks, key: 'k', wait: 0 })())) as LockContendedError
    expect(silent.message).toBe(silent.cause.message)
  })

  it('is answered in place of the function, if you say how', async () => {
    await elsewhere.acquire('k')
    const onContended = ({ key }: LockContendedError): string => `skipped ${key}`
    expect(await lockedFunction(never, { locks, key: 'k', wait: 0, onContended })()).toBe('skipped k')
  })

  it('within the function is an error of the function', async () => {
    await elsewhere.acquire('inner')
    const inner = (): Promise<unknown> => locks.acquire('inner', { wait: 0 })
    const outer = lockedFunction(inner, { locks, key: 'k', failureMessage: 'Busy', onContended: () => 'skipped' })
    expect(await rejection(outer())).toBeInstanceOf(AcquireTimeoutError)
    const guarded = lockedFunction(inner, { locks, key: 'inner', wait: 0, failureMessage: 'Inner' })
    const around = lockedFunction(guarded, { locks, key: 'k', onContended: () => 'skipped' })
    expect(await rejection(around())).toMatchObject({ code: 'CONTENDED', message: 'Inner' })
  })

  it('is what a job meets that another process has just run', async () => {
    const job = (locker: Locker) =>
      lockedFunction(async () => 'ran', {
        locks: holdAtLeast(locker, '30s'),
        key: 'cron:nightly',
        wait: 0,
        onContended: () => 'skipped',
      })
    expect([await job(locks)(), await job(elsewhere)()]).toEqual(['ran', 'skipped'])
  })
})

describe('a job that is due while it runs', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })
  let told: Overrun[]
  let gates: PromiseWithResolvers<void>[]
  beforeEach(() => {
    told = []
    gates = []
  })
  /** Each run ends when its gate is opened. */
  const job = (
    locker: Locker,
    key = 'cron:nightly',
    options: Partial<LockedOptions<unknown, () => Promise<unknown>>> = {},
  ) =>
    lockedFunction(
      (): Promise<unknown> => {
        const gate = Promise.withResolvers<void>()
        gates.push(gate)
        return gate.promise
      },
      {
        locks: holdAtLeast(locker, '30s'),
        key,
        wait: 0,
        onContended: () => 'skipped',
        onOverrun: (overrun) => told.push(overrun),
        ...options,
      },
    )

  it('has overrun in the process where it runs, which is told for how long, and in no other', async () => {
    const now = vi.spyOn(systemClock, 'monotonicMs').mockReturnValue(1_000)
    const [here, there] = [job(locks), job(elsewhere)]
    const first = here()
    await expect.poll(() => gates.length).toBe(1)
    now.mockReturnValue(61_000.4)
    expect([await there(), told]).toEqual(['skipped', []])
    expect([await here(), told]).toEqual(['skipped', [{ key: 'cron:nightly', runningMs: 60_000 }]])
    gates[0]?.resolve()
    await first
    // It has ended, and its lock is kept.
    expect([await here(), told.length]).toEqual(['skipped', 1])
    await clock.advance(30_000)
    const next = here()
    await expect.poll(() => gates.length).toBe(2)
    gates[1]?.resolve()
    expect([await next, told.length]).toEqual([undefined, 1])
  })

  it('has not overrun for another key, and ends its overrun when it fails', async () => {
    let key = 'a'
    const run = job(locks, '', { key: () => key, locks })
    const failed = rejection(run())
    await expect.poll(() => gates.length).toBe(1)
    key = 'b'
    await elsewhere.acquire('b')
    expect([await run(), told]).toEqual(['skipped', []])
    gates[0]?.reject(new Error('failed'))
    await failed
    await elsewhere.acquire('a')
    key = 'a'
    expect([await run(), told]).toEqual(['skipped', []])
  })

  it('has still overrun after an earlier run, which had lost its lease, ends', async () => {
    const run = job(locks, 'k', { locks })
    const lost = rejection(run())
    await expect.poll(() => gates.length).toBe(1)
    await locks.revoke('k')
    const second = run()
    await expect.poll(() => gates.length).toBe(2)
    gates[0]?.resolve()
    await lost
    expect([await run(), told.length]).toEqual(['skipped', 1])
    gates[1]?.resolve()
    await second
  })

  it('fails with what the listener throws, if it is told by that', async () => {
    const onOverrun = ({ key }: Overrun): never => {
      throw new Error(`${key} has overrun`)
    }
    const run = job(locks, 'k', { onOverrun })
    const first = run()
    await expect.poll(() => gates.length).toBe(1)
    expect(await rejection(run())).toMatchObject({ message: 'k has overrun' })
    gates[0]?.resolve()
    await first
  })
})

describe('what is not contention', () => {
  it('a store that does not answer is told as that', async () => {
    store.always('acquire', requestLost)
    const call = follow(
      lockedFunction(() => 'ran', { locks, key: 'k', wait: '1s', failureMessage: 'Busy', onContended: () => 'no' })(),
      clock,
    )
    await clock.advance(10_000)
    expect(call.reason).toBeInstanceOf(StoreUnavailableError)
  })

  it('a lease that is lost meanwhile is told as that, with the result', async () => {
    const call = lockedFunction(async () => (await locks.revoke('k')) && 'done', { locks, key: 'k' })
    const error = (await rejection(call())) as LeaseLostError
    expect(error).toBeInstanceOf(LeaseLostError)
    expect(error.result).toBe('done')
  })

  it('a caller who gives up gets the reason of the signal', async () => {
    await elsewhere.acquire('k')
    const abort = new AbortController()
    const work = lockedFunction((_signal: AbortSignal) => 'ran', { locks, key: 'k', signal: (signal) => signal })
    const call = follow(work(abort.signal), clock)
    await clock.advance(10)
    abort.abort('enough')
    await clock.advance(10)
    expect(call).toMatchObject({ state: 'rejected', reason: 'enough' })
  })
})

describe('a mistake', () => {
  const make = (options: object, fn: unknown = () => 1) =>
    lockedFunction(fn as () => number, { locks, key: 'k', ...options } as LockedOptions<unknown, () => number>)

  it.each([
    ['locks', { locks: {} }],
    ['locks', { locks: undefined }],
    ['key', { key: 5 }],
    ['failureMessage', { failureMessage: 5 }],
    ['onContended', { onContended: 'skip' }],
    ['onOverrun', { onOverrun: 'warn' }],
    ['signal', { signal: 5 }],
    ['ttl', { ttl: -1 }],
    ['message', { message: 'unknown' }],
  ])('in %s is told when the function is made', (option, options) => {
    expect(() => make(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', option }))
  })

  it('in the function, too', () => {
    expect(() => make({}, 5)).toThrow(expect.objectContaining({ option: 'fn' }))
  })

  it('that shows with a call rejects, by name', async () => {
    expect(await rejection(make({ key: () => 5 })())).toMatchObject({ code: 'INVALID_OPTION', option: 'key' })
    expect(await rejection(make({ locks: () => undefined })())).toBeInstanceOf(InvalidOptionError)
    const broken = (): never => {
      throw new Error('no tenant')
    }
    expect(await rejection(make({ key: broken })())).toMatchObject({ message: 'no tenant' })
  })
})
