/*
 * What the compiler guarantees about `@leasehold/hono`. `tsc` checks it; the test run shows only that the file is
 * there. Calls are in functions that nobody calls.
 */
import type { Lease, Locker } from '@leasehold/core'
import { idempotent, type LockCalls, locked } from '@leasehold/hono'
import type { OngoingRun } from '@leasehold/idempotency'
import { type Context, Hono } from 'hono'
import { describe, expectTypeOf, it } from 'vitest'

declare const locks: Locker

interface Env {
  Bindings: { readonly REDIS_URL: string }
  Variables: { tenant: string }
}

describe('locked', () => {
  it('puts a lease on the context of the handlers that follow it', () => {
    void (() =>
      new Hono<Env>().put('/orders/:id', locked({ locks, key: (c) => `order:${c.req.param('id')}` }), (c) => {
        expectTypeOf(c.var.lease).toEqualTypeOf<Lease>()
        expectTypeOf(c.get('lease')).toEqualTypeOf<Lease>()
        expectTypeOf(c.get('tenant')).toEqualTypeOf<string>()
        expectTypeOf(c.env.REDIS_URL).toEqualTypeOf<string>()
        expectTypeOf(c.req.param('id')).toEqualTypeOf<string>()
        return c.body(null)
      }))
  })

  it('puts each of several leases there under its own name', () => {
    void (() => {
      const stock = locked({ locks, key: () => 'stock', as: 'stock' })
      const order = locked({ locks, key: () => 'order', as: 'order' })
      return new Hono().post('/', order, stock, (c) => {
        expectTypeOf(c.var.stock).toEqualTypeOf<Lease>()
        expectTypeOf(c.get('order')).toEqualTypeOf<Lease>()
        // @ts-expect-error
        void c.var.lease
        return c.body(null)
      })
    })
  })

  it('follows through `use`, and to no other app', () => {
    void (() =>
      new Hono().use('/a', locked({ locks, key: () => 'a' })).get('/a', (c) => {
        expectTypeOf(c.var.lease).toEqualTypeOf<Lease>()
        return c.body(null)
      }))
    void (() =>
      new Hono<Env>().get('/a', (c) => {
        // @ts-expect-error
        void c.var.lease
        return c.body(null)
      }))
  })

  it('takes callbacks that know the app’s context, and those that do not', () => {
    void (() => [
      locked({ locks: (c: Context<Env>) => (c.env.REDIS_URL ? locks : locks), key: (c) => c.get('tenant') }),
      new Hono<Env>().use(locked({ locks, key: (c) => c.get('tenant'), onContended: (c) => c.text('busy', 409) })),
      locked<Env>({ locks, key: (c) => c.get('tenant'), onLost: (c, { reason }) => c.text(reason, 500) }),
      // @ts-expect-error
      locked<Env>({ locks, key: (c) => c.get('tenants') }),
    ])
  })

  it('takes a wrapper around a locker', () => {
    const logged: LockCalls = { withLock: (key, options, work) => locks.withLock(key, options, work) }
    void (() => locked({ locks: logged, key: () => 'a' }))
  })

  it('takes the options of an acquire but the signal, and no other status', () => {
    void (() => [
      locked({ locks, key: () => 'a', ttl: '5s', wait: 0, renew: false, maxHold: '1m', onContended: 423 }),
      // @ts-expect-error
      locked({ locks, key: () => 'a', signal: AbortSignal.abort() }),
      // @ts-expect-error
      locked({ locks, key: () => 'a', onContended: 429 }),
    ])
  })
})

describe('idempotent', () => {
  it('puts a run on the context, which is undefined for what passes through', () => {
    void (() =>
      new Hono<Env>().post('/', idempotent({ locks, scope: (c) => c.get('tenant') }), (c) => {
        expectTypeOf(c.var.run).toEqualTypeOf<OngoingRun | undefined>()
        expectTypeOf(c.get('tenant')).toEqualTypeOf<string>()
        return c.body(null)
      }))
  })

  it('stands beside a lock, under a name of its own', () => {
    void (() =>
      new Hono().post(
        '/:id',
        idempotent({ locks, scope: 'all', as: 'payment' }),
        locked({ locks, key: (c) => `account:${c.req.param('id')}` }),
        (c) => {
          expectTypeOf(c.var.payment).toEqualTypeOf<OngoingRun | undefined>()
          expectTypeOf(c.var.lease).toEqualTypeOf<Lease>()
          return c.body(null)
        },
      ))
  })

  it('needs a scope, and takes the options of its package', () => {
    void (() => [
      idempotent<Env>({ locks: (c) => (c.env.REDIS_URL ? locks : locks), scope: (c) => c.get('tenant'), wait: '5s' }),
      idempotent({
        locks,
        scope: 'all',
        endings: { '5xx': 'complete', thrown: 'abandon' },
        isAnswer: ({ name }) => name === 'Sold',
      }),
      // @ts-expect-error
      idempotent({ locks }),
      // @ts-expect-error
      idempotent({ locks, scope: (request: Request) => request.url }),
    ])
  })
})
