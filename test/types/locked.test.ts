/*
 * What the compiler guarantees about `lockedFunction`. `tsc` checks it; the test run shows only that the file is there.
 * Calls are in functions that nobody calls.
 */
import type { Locker } from '@leasehold/core'
import { type LockCalls, LockContendedError, lockedFunction } from '@leasehold/core/locked'
import type { HoldingAtLeast } from '@leasehold/core/schedule'
import { describe, expectTypeOf, it } from 'vitest'

declare const locks: Locker
declare const shop: { readonly calls: Locker }

describe('lockedFunction', () => {
  it('answers a promise of what its function answers, for the same arguments', () => {
    void (() => {
      const sync = lockedFunction((id: string, n = 1) => id.length + n, { locks, key: (id) => id.trim() })
      expectTypeOf(sync).toBeCallableWith('a')
      expectTypeOf(sync).toBeCallableWith('a', 2)
      expectTypeOf(sync).returns.resolves.toEqualTypeOf<number>()
      const async = lockedFunction(async (id: string) => ({ id }), { locks, key: (id) => id, wait: '3s' })
      expectTypeOf(async).returns.resolves.toEqualTypeOf<{ id: string }>()
      // @ts-expect-error
      void async(5)
      // @ts-expect-error
      void async()
    })
  })

  it('gives its key the arguments with their types, and its `this`', () => {
    void (() => [
      lockedFunction((id: string) => id, { locks, key: (id) => id.trim() }),
      // @ts-expect-error
      lockedFunction((id: string) => id, { locks, key: (id) => id.toFixed() }),
      // @ts-expect-error
      lockedFunction((id: string) => id, { locks, key: () => 5 }),
      // @ts-expect-error
      lockedFunction((id: string) => id, { locks }),
    ])
    void (() => {
      const own = lockedFunction(
        function (this: { readonly calls: Locker }) {
          return this.calls
        },
        { locks: ({ calls }) => calls, key: 'k' },
      )
      void own.call(shop)
      // @ts-expect-error
      void own()
    })
  })

  it('may be answered for in its own type, and no other', () => {
    void (() => [
      lockedFunction(async () => 5, { locks, key: 'k', onContended: () => 6 }),
      lockedFunction(() => 5, { locks, key: 'k', onContended: async () => 6 }),
      // @ts-expect-error
      lockedFunction(async () => 5, { locks, key: 'k', onContended: () => 'busy' }),
    ])
  })

  it('is guarded by whatever has `withLock`', () => {
    expectTypeOf<Locker>().toExtend<LockCalls>()
    expectTypeOf<HoldingAtLeast>().toExtend<LockCalls>()
  })

  it('fails with an error that has a key and a cause', () => {
    void ((error: unknown) => {
      if (error instanceof LockContendedError) expectTypeOf(error.cause.waitedMs).toEqualTypeOf<number>()
    })
  })
})
