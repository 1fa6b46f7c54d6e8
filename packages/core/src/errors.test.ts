import { inspect } from 'node:util'
import { follow, refusing, testLocker, unavailable } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import {
  AcquireTimeoutError,
  InvalidOptionError,
  LeaseholdError,
  LeaseLostError,
  StoreUnavailableError,
} from './errors.ts'

const oneOfEach = {
  ACQUIRE_TIMEOUT: new AcquireTimeoutError('k', 1_000, 7),
  LEASE_LOST: new LeaseLostError('k', 'gone', undefined, 42),
  STORE_UNAVAILABLE: new StoreUnavailableError(
    'did not answer; check that it is reachable',
    'unknown',
    new Error('closed'),
  ),
  INVALID_OPTION: new InvalidOptionError('ttl', 'is bad'),
  CLOSED: new LeaseholdError('CLOSED', 'closed'),
}
const classes = { AcquireTimeoutError, InvalidOptionError, LeaseLostError, StoreUnavailableError }

describe('an error', () => {
  it('has a code, a name and its figures', () => {
    expect(oneOfEach.ACQUIRE_TIMEOUT).toMatchObject({ key: 'k', waitedMs: 1_000, commands: 7 })
    expect(oneOfEach.LEASE_LOST).toMatchObject({ key: 'k', reason: 'gone', result: 42 })
    expect(oneOfEach.STORE_UNAVAILABLE).toMatchObject({ executed: 'unknown', cause: expect.any(Error) })
    expect(oneOfEach.INVALID_OPTION).toMatchObject({ option: 'ttl' })
    for (const [code, error] of Object.entries(oneOfEach)) expect(error.code).toBe(code)
    for (const [name, type] of Object.entries(classes)) {
      expect(Object.values(oneOfEach).find((error) => error.name === name)).toBeInstanceOf(type)
    }
  })

  it('is an instance of its own class, of LeaseholdError and of Error, and of no other class', () => {
    for (const error of Object.values(oneOfEach)) {
      expect(error).toBeInstanceOf(Error)
      expect(error).toBeInstanceOf(LeaseholdError)
      const matching = Object.values(classes).filter((type) => error instanceof type)
      expect(matching.map(({ code }) => code as string)).toEqual(error.code === 'CLOSED' ? [] : [error.code])
    }
  })

  it.each([
    null,
    undefined,
    7,
    'ACQUIRE_TIMEOUT',
    {},
    new Error('x'),
    { code: 'ACQUIRE_TIMEOUT' },
    AcquireTimeoutError,
  ])('is not something that checks a little like one: %j', (value) => {
    for (const type of [LeaseholdError, ...Object.values(classes)]) expect(value instanceof type).toBe(false)
  })

  it('is an instance across two copies of the package', async () => {
    const otherCopy = './errors.ts?copy'
    const copy: typeof import('./errors.ts') = await import(otherCopy)
    expect(copy.LeaseholdError).not.toBe(LeaseholdError)
    const theirs = [
      new copy.AcquireTimeoutError('k', 1, 1),
      new copy.InvalidOptionError('ttl', 'is bad'),
      new copy.LeaseLostError('k', 'gone'),
      new copy.StoreUnavailableError('acquire', 'no'),
    ]
    const mine = Object.values(classes)
    for (const [at, error] of theirs.entries()) {
      expect(error).toBeInstanceOf(LeaseholdError)
      expect(mine.map((type) => error instanceof type)).toEqual(mine.map((_, index) => index === at))
    }
    expect(oneOfEach.CLOSED).toBeInstanceOf(copy.LeaseholdError)
    expect(oneOfEach.LEASE_LOST).toBeInstanceOf(copy.LeaseLostError)
    expect(oneOfEach.LEASE_LOST).not.toBeInstanceOf(copy.AcquireTimeoutError)
  })

  it('says what to do', () => {
    expect(oneOfEach.ACQUIRE_TIMEOUT.message).toMatch(/"k" was still held after 1000 ms and 7 commands; allow more/)
    expect(oneOfEach.LEASE_LOST.message).toMatch(/"k" was lost \(gone\); stop its work/)
    expect(oneOfEach.STORE_UNAVAILABLE.message).toMatch(/did not answer; check that it is reachable/)
    expect(oneOfEach.INVALID_OPTION.message).toBe('Option "ttl" is bad')
  })
})

describe('no error tells a token', () => {
  it('in its message, or anywhere in what is printed of it', async () => {
    const { locks, store, clock } = testLocker({ name: 'orders-7', ttl: '3s', wait: '2s' })
    const rejected: unknown[] = []
    const collect = async (promise: Promise<unknown>, ms = 10_000): Promise<void> => {
      const ending = follow(promise, clock)
      await clock.advance(ms)
      expect(ending.state).toBe('rejected')
      rejected.push(ending.reason)
    }

    const holder = await locks.acquire('held')
    await collect(locks.acquire('held'))
    await collect(locks.acquire('held', { signal: AbortSignal.abort() }))
    await collect(locks.acquire('held', { budget: 1 }))
    await holder.release()
    await collect(holder.renew({ by: '1s' }), 0)

    const revoked = await locks.acquire('revoked')
    await locks.revoke('revoked')
    await collect(revoked.renew({ ttl: '5s' }), 0)
    rejected.push(revoked.signal.reason)
    const revoking = locks.withLock('revoked', async (lease) => {
      await locks.revoke('revoked')
      await lease.renew({ by: '1s' })
    })
    await collect(revoking)
    await collect(locks.withLock('revoked', () => locks.revoke('revoked')))

    store.always('renew', unavailable('unknown'))
    const unanswered = await locks.acquire('unanswered')
    await collect(unanswered.renew({ ttl: '5s' }), 1_000)
    await clock.advance(5_000)
    rejected.push(unanswered.signal.reason)

    store.always('acquire', unavailable('unknown'))
    await collect(locks.acquire('silent'))
    await collect(locks.tryAcquire('silent'))
    store.always('acquire', refusing(new LeaseholdError('KIND_MISMATCH', 'Not a lock')))
    await collect(locks.acquire('other'))
    store.always('inspect', unavailable('no'))
    await collect(locks.inspect('k'))
    await collect(locks.acquire('k', { ttl: -1 }))
    await locks.close()
    await collect(locks.acquire('k'))

    const codes = new Set(rejected.map((error) => (error instanceof LeaseholdError ? error.code : undefined)))
    expect([...codes].sort()).toEqual([
      'ACQUIRE_TIMEOUT',
      'CLOSED',
      'INVALID_OPTION',
      'KIND_MISMATCH',
      'LEASE_LOST',
      'LEASE_RELEASED',
      'STORE_UNAVAILABLE',
      undefined,
    ])
    const secrets = store.calls.flatMap(({ requests }) => requests.flatMap((it) => it.acquisitionId ?? it.token ?? []))
    const randomParts = new Set(secrets.map((secret) => /[\da-f]{32}/.exec(secret)?.[0] ?? 'none'))
    expect(randomParts.size).toBeGreaterThan(5)
    for (const error of rejected) {
      const printed = inspect(error, { depth: 10, showHidden: true })
      for (const random of randomParts) expect(printed).not.toContain(random)
    }
  })
})
