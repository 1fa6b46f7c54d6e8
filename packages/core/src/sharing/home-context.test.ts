import { AsyncLocalStorage } from 'node:async_hooks'
import { ContextClock, follow, replyLost, ScriptedStore, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import type { LeaseStore } from '../adapter/index.ts'
import { createLocker, type Locker, poll } from '../index.ts'
import { contextKeeper } from './home-context.ts'

const tenant = new AsyncLocalStorage<string>()

/** What a clock and a store see of their callers. */
let seen: { readonly what: string; readonly tenant: string | undefined }[]
let clock: SeeingClock
let store: ScriptedStore
let locks: Locker

class SeeingClock extends ContextClock {
  override schedule(callback: () => void, delayMs: number, mode?: 'background'): () => void {
    if (mode) see('timer')
    return super.schedule(callback, delayMs, mode)
  }
}

const see = (what: string): void => {
  seen.push({ what, tenant: tenant.getStore() })
}

/** Records in whose context each call is made. */
function seeing(behind: LeaseStore): LeaseStore {
  return {
    commandDeadlineMs: behind.commandDeadlineMs,
    nodeOf: (key) => behind.nodeOf(key),
    whenReady: (key, call) => behind.whenReady(key, call),
    checkHolders: (requests, signal) => behind.checkHolders(requests, signal),
    inspect(key, signal) {
      see('inspect')
      return behind.inspect(key, signal)
    },
    revoke: (key, signal) => behind.revoke(key, signal),
    acquire(requests, signal) {
      see('acquire')
      return behind.acquire(requests, signal)
    },
    renew(requests, signal) {
      see('renew')
      return behind.renew(requests, signal)
    },
    release(requests, signal) {
      see('release')
      return behind.release(requests, signal)
    },
  }
}

beforeEach(() => {
  seen = []
  clock = new SeeingClock()
  store = new ScriptedStore(clock)
  locks = tenant.run('the locker’s own', () => createLocker({ store: seeing(store), clock, wait: '1m' }))
})

const seenBy = (what: string): (string | undefined)[] =>
  seen.flatMap((each) => (each.what === what ? [each.tenant] : []))

const own = 'the locker’s own'

describe('what goes on behind a caller’s back runs in the context in which the locker was made', () => {
  it('renewals, their timers, and the handling of a loss', async () => {
    const lost: (string | undefined)[] = []
    for (const name of ['a', 'b', 'c']) {
      await tenant.run(name, async () => {
        const lease = await locks.acquire(name)
        lease.signal.addEventListener('abort', () => lost.push(tenant.getStore()))
      })
    }
    await clock.advance(30_000)
    expect(seenBy('renew').length).toBeGreaterThan(5)
    expect(new Set(seenBy('renew'))).toEqual(new Set([own]))
    await createLocker({ store, clock }).revoke('b')
    await clock.advance(5_000)
    await tenant.run('an operator', () => locks.revoke('a'))
    await clock.advance(0)
    await tenant.run('whoever closes it', async () => follow(locks.close({ grace: 0 }), clock))
    await clock.advance(3_000)
    expect(lost).toEqual([own, own, own])
    expect(new Set(seenBy('timer'))).toEqual(new Set([own]))
  })

  it('the tries of a waiter whose turn it is because of another’s release or abort', async () => {
    const holder = await tenant.run('holder', () => locks.acquire('k'))
    expect(holder.token).toBeTypeOf('string')
    const waiting = tenant.run('waiter', () => follow(locks.acquire('k'), clock))
    seen = []
    await tenant.run('holder', () => holder.release())
    await clock.advance(0)
    expect(waiting.state).toBe('fulfilled')
    expect(seenBy('acquire')).toEqual([own])
    expect(seenBy('release')).toEqual(['holder'])
  })

  it('the check of a lock that others of its process wait for', async () => {
    await tenant.run('holder', () => locks.acquire('k', { ttl: '1h', renew: false }))
    tenant.run('waiter', () => follow(locks.acquire('k'), clock))
    await clock.advance(5_000)
    expect(new Set(seenBy('inspect'))).toEqual(new Set([own]))
    expect(seenBy('inspect').length).toBeGreaterThan(2)
  })

  it('the undoing of what a caller has given up', async () => {
    store.always('acquire', replyLost)
    const stop = new AbortController()
    const acquiring = tenant.run('caller', () => follow(locks.acquire('k', { signal: stop.signal }), clock))
    await clock.advance(100)
    stop.abort()
    await clock.advance(10_000)
    expect(acquiring.state).toBe('rejected')
    expect(seenBy('acquire')).toEqual(['caller'])
    expect(seenBy('release')).toEqual([own])
  })

  it('while what a caller waits for runs in that caller’s', async () => {
    await createLocker({ store, clock }).acquire('k', { ttl: '1h', renew: false })
    const waiting = tenant.run('caller', () => follow(locks.acquire('k', { strategy: poll() }), clock))
    await clock.advance(1_000)
    expect(waiting.state).toBe('pending')
    expect(seenBy('acquire').length).toBeGreaterThan(5)
    expect(new Set(seenBy('acquire'))).toEqual(new Set(['caller']))
  })

  it('and one task that fails ends no other', async () => {
    const done: string[] = []
    const failures: unknown[] = []
    const onFailure = (reason: unknown): void => {
      failures.push(reason)
    }
    const former = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', onFailure)
    const run = contextKeeper()
    run(() => {
      throw new Error('a bug')
    })
    run(() => done.push('next'))
    await new Promise((resolve) => setImmediate(resolve))
    run(() => done.push('later'))
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', onFailure)
    for (const listener of former) process.on('unhandledRejection', listener)
    expect(done).toEqual(['next', 'later'])
    expect(failures).toHaveLength(1)
  })
})

describe('calls that share a command', () => {
  it('share it in the locker’s own context, and whoever goes on does not do so in that of another', async () => {
    store.always('acquire', replyLost)
    const stop = new AbortController()
    const gone = follow(
      tenant.run('A', () => locks.acquire('a', { signal: stop.signal })),
      clock,
    )
    follow(
      tenant.run('B', () => locks.acquire('b')),
      clock,
    )
    await clock.advance(50)
    expect(seenBy('acquire')).toEqual(['the locker’s own'])
    stop.abort('left')
    await clock.advance(0)
    expect(gone.reason).toBe('left')
    seen = []
    await clock.advance(20_000)
    expect(seen.length).toBeGreaterThan(5)
    expect(new Set(seen.map((each) => each.tenant))).not.toContain('A')
  })

  it('and one that goes alone stays in its own', async () => {
    await tenant.run('A', () => locks.acquire('k'))
    expect(seen.find(({ what }) => what === 'acquire')?.tenant).toBe('A')
  })
})

it('a timer that is set at home is due when it was asked for, however busy the process was meanwhile', async () => {
  const { locks: those, clock: their } = testLocker()
  await those.acquire('k')
  const first = follow(those.acquire('k', { wait: 3_000 }), their)
  their.block(3_000)
  await their.advance(10)
  const second = follow(those.acquire('k', { wait: 50 }), their)
  await their.advance(10_000)
  expect([first.atMs, second.atMs]).toEqual([3_000, 3_060])
})
