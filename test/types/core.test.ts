/*
 * What the compiler guarantees about `@leasehold/core`. `tsc` checks it; the test run shows only that the file is
 * there. Calls are in functions that nobody calls.
 */
import {
  type AcquireOptions,
  AcquireTimeoutError,
  type Extension,
  InvalidOptionError,
  type KeyLocker,
  type Lease,
  LeaseholdError,
  type LeaseholdErrorCode,
  LeaseLostError,
  type Locker,
  type LockerEvent,
  type LockerOptions,
  type LockState,
  type LossReason,
  type ReleaseResult,
  StoreUnavailableError,
  type TryAcquireOptions,
} from '@leasehold/core'
import { describe, expectTypeOf, it } from 'vitest'

declare const locks: Locker
declare const order: KeyLocker
declare const lease: Lease

type EventOf<T extends LockerEvent['type']> = Extract<LockerEvent, { readonly type: T }>

describe('withLock', () => {
  it('gives what its work gives, whether that is a promise or not', () => {
    const calls = () => ({
      plain: locks.withLock('k', () => 42),
      async: locks.withLock('k', async () => 'text'),
      nothing: locks.withLock('k', () => undefined),
      withOptions: locks.withLock('k', { wait: '5s' }, async ({ fence }) => fence),
      withoutOptions: locks.withLock('k', undefined, () => true),
      bound: order.withLock({ ttl: 1_000 }, () => 42),
      boundPlain: order.withLock(() => 42),
    })
    type Given = { [Call in keyof ReturnType<typeof calls>]: Awaited<ReturnType<typeof calls>[Call]> }
    expectTypeOf<Given>().toEqualTypeOf<{
      plain: number
      async: string
      nothing: undefined
      withOptions: number
      withoutOptions: boolean
      bound: number
      boundPlain: number
    }>()
  })

  it('hands its work a lease', () => {
    void (() => locks.withLock('k', (held) => expectTypeOf(held).toEqualTypeOf<Lease>()))
    void (() => locks.withLock('k', {}, (held) => expectTypeOf(held).toEqualTypeOf<Lease>()))
  })

  it('takes options before the work, and no other order', () => {
    // @ts-expect-error
    void (() => locks.withLock('k', () => 42, { wait: '5s' }))
    // @ts-expect-error
    void (() => locks.withLock('k', { wait: '5s' }))
    // @ts-expect-error
    void (() => locks.withLock('k'))
    // @ts-expect-error
    void (() => locks.withLock(['a', 'b'], () => 42))
  })
})

describe('an acquire', () => {
  it('gives a lease; a try may give null, which has to be checked', () => {
    expectTypeOf<Locker['acquire']>().returns.resolves.toEqualTypeOf<Lease>()
    expectTypeOf<Locker['tryAcquire']>().returns.resolves.toEqualTypeOf<Lease | null>()
    void (async () => {
      const turn = await locks.tryAcquire('k')
      // @ts-expect-error
      turn.assertValid()
      if (turn) turn.assertValid()
    })
  })

  it('takes no options that mean nothing', () => {
    // @ts-expect-error
    void (() => locks.acquire(['a']))
    // @ts-expect-error
    void (() => locks.acquire('k', 5_000))
    // @ts-expect-error
    void (() => locks.acquire('k', { retryCount: 3 }))
    // @ts-expect-error
    void (() => locks.acquire('k', { ttl: true }))
    // @ts-expect-error
    void (() => locks.tryAcquire('k', { wait: '5s' }))
  })

  it('takes undefined for each option, as of a configuration that is not set', () => {
    type Unset<Options> = { readonly [Option in keyof Required<Options>]: undefined }
    expectTypeOf<Unset<AcquireOptions>>().toExtend<AcquireOptions>()
    expectTypeOf<Unset<TryAcquireOptions>>().toExtend<TryAcquireOptions>()
    expectTypeOf<Unset<Omit<LockerOptions, 'store'>>>().toExtend<Omit<LockerOptions, 'store'>>()
    // @ts-expect-error
    void ({} satisfies LockerOptions)
    // @ts-expect-error
    void ({ store: undefined } satisfies LockerOptions)
  })
})

describe('a lease', () => {
  it('has a fence that is a number, and can be disposed', () => {
    expectTypeOf<Lease['fence']>().toEqualTypeOf<number>()
    expectTypeOf<Lease>().toExtend<AsyncDisposable>()
    expectTypeOf<Locker>().toExtend<AsyncDisposable>()
    expectTypeOf<Lease['release']>().returns.resolves.toEqualTypeOf<ReleaseResult>()
    expectTypeOf<ReleaseResult>().toEqualTypeOf<'released' | 'expired' | 'superseded' | 'unknown' | 'detached'>()
  })

  it('is extended to a ttl or by a time, never both, never neither', () => {
    expectTypeOf<{ ttl: '30s' }>().toExtend<Extension>()
    expectTypeOf<{ by: 1_000 }>().toExtend<Extension>()
    expectTypeOf<{ ttl: '30s'; by: '3m' }>().not.toExtend<Extension>()
    expectTypeOf<Record<never, never>>().not.toExtend<Extension>()
    // @ts-expect-error
    void (() => lease.renew('30s'))
    // @ts-expect-error
    void (() => lease.renew())
  })
})

describe('what is told', () => {
  it('an event has the fields of its type, once that is known', () => {
    void ((event: LockerEvent) => {
      // @ts-expect-error
      void event.heldMs
      if (event.type === 'lost') expectTypeOf(event.reason).toEqualTypeOf<LossReason>()
      if (event.type === 'released') expectTypeOf(event.outcome).toEqualTypeOf<ReleaseResult>()
      if (event.type === 'acquired') expectTypeOf(event.fence).toEqualTypeOf<number>()
      // @ts-expect-error
      if (event.type === 'lots') return
    })
    expectTypeOf<EventOf<'lost'>>().not.toBeNever()
    expectTypeOf<EventOf<LockerEvent['type']>>().toEqualTypeOf<LockerEvent>()
  })

  it('a state has a holder only if the lock is held', () => {
    void ((state: LockState) => {
      // @ts-expect-error
      void state.holder
      if (state.held) expectTypeOf(state.expiresInMs).toEqualTypeOf<number | null>()
      if (state.held) expectTypeOf(state.fence).toEqualTypeOf<number | null>()
      else expectTypeOf(state).toEqualTypeOf<{ readonly held: false }>()
    })
  })
})

describe('an error', () => {
  it('has the fields of its class, once instanceof has asked', () => {
    void ((error: unknown) => {
      if (error instanceof LeaseLostError) expectTypeOf(error.reason).toEqualTypeOf<LossReason>()
      if (error instanceof AcquireTimeoutError) expectTypeOf(error.key).toEqualTypeOf<string>()
      if (error instanceof StoreUnavailableError) expectTypeOf(error.executed).toEqualTypeOf<'no' | 'unknown'>()
      if (error instanceof InvalidOptionError) expectTypeOf(error.option).toEqualTypeOf<string>()
      if (error instanceof LeaseholdError) expectTypeOf(error.code).toEqualTypeOf<LeaseholdErrorCode>()
    })
  })

  it('of several classes is told apart by its code', () => {
    void ((error: LeaseLostError | AcquireTimeoutError) => {
      // @ts-expect-error
      void error.reason
      if (error.code === 'LEASE_LOST') expectTypeOf(error).toEqualTypeOf<LeaseLostError>()
      else expectTypeOf(error.waitedMs).toEqualTypeOf<number>()
    })
  })

  it('of a loss has one of a closed set of reasons, so that a switch over them can be complete', () => {
    expectTypeOf<LossReason>().toEqualTypeOf<
      'expired' | 'superseded' | 'gone' | 'unreachable' | 'max-hold' | 'closed'
    >()
    // @ts-expect-error
    void ('revoked' satisfies LossReason)
  })
})
