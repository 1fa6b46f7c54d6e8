import { inspect } from 'node:util'
import { follow, ManualClock, refusing, ScriptedStore, unavailable } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  AcquireTimeoutError,
  InvalidOptionError,
  LeaseholdError,
  LeaseLostError,
  StoreUnavailableError,
} from './errors.ts'
import { createLocker } from './locker.ts'

const oneOfEach = {
  ACQUIRE_TIMEOUT: new AcquireTimeoutError('k', { waitedMs: 1_000, commands: 7, lateGrants: 0 }),
  LEASE_LOST: new LeaseLostError('k', 'gone', undefined, 42),
  STORE_UNAVAILABLE: new StoreUnavailableError('gave no usable answer to acquire', 'unknown', new Error('closed')),
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
      new copy.AcquireTimeoutError('k', { waitedMs: 1, commands: 1, lateGrants: 0 }),
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
    expect(oneOfEach.ACQUIRE_TIMEOUT.message).toMatch(
      /"k" is held by another holder after 1000 ms and 7 commands; allow a longer wait/,
    )
    expect(oneOfEach.LEASE_LOST.message).toMatch(/"k" was lost \(gone\); stop its work/)
    expect(oneOfEach.STORE_UNAVAILABLE.message).toMatch(
      /gave no usable answer to acquire: closed; check that it is reachable/,
    )
    expect(oneOfEach.INVALID_OPTION.message).toBe('Option "ttl" is bad')
  })
})

describe('what is printed of an error', () => {
  it.each(Object.entries(oneOfEach))('%s as JSON: its name, code, message and figures', (code, error) => {
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ name: error.name, code, message: error.message })
  })

  it('as JSON has the message of the cause, and not what the work returned', () => {
    expect(JSON.parse(JSON.stringify(oneOfEach.STORE_UNAVAILABLE))).toEqual({
      name: 'StoreUnavailableError',
      code: 'STORE_UNAVAILABLE',
      message: oneOfEach.STORE_UNAVAILABLE.message,
      executed: 'unknown',
      refused: false,
      cause: 'closed',
    })
    const circular: { self?: unknown } = {}
    circular.self = circular
    const lost = new LeaseLostError('k', 'unreachable', new Error('closed'), circular)
    expect(JSON.parse(JSON.stringify(lost))).toEqual({
      name: 'LeaseLostError',
      code: 'LEASE_LOST',
      message: lost.message,
      key: 'k',
      reason: 'unreachable',
      cause: 'closed',
    })
  })

  it('by the console begins with its name, and has its figures and nothing internal', () => {
    const [head = '', ...fields] = inspect(oneOfEach.ACQUIRE_TIMEOUT).split(/\n {4}at [^\n]*/)
    expect(head).toBe(`AcquireTimeoutError: ${oneOfEach.ACQUIRE_TIMEOUT.message}`)
    const shown = { code: 'ACQUIRE_TIMEOUT', key: 'k', waitedMs: 1_000, commands: 7, lateGrants: 0, heldHere: false }
    for (const [name, value] of Object.entries(shown)) expect(fields.join('')).toContain(`${name}: ${inspect(value)}`)
    for (const error of Object.values(oneOfEach)) expect(inspect(error)).not.toMatch(/Symbol|undefined/)
  })
})

describe('what a caller is told', () => {
  let clock: ManualClock
  let store: ScriptedStore
  beforeEach(() => {
    clock = new ManualClock()
    store = new ScriptedStore(clock)
  })
  const locker = (options?: object) => createLocker({ store, clock, ...options })
  /** The error of a call that rejects within `ms`. */
  async function told(promise: Promise<unknown>, ms = 0): Promise<Error & { key?: string }> {
    const ending = follow(promise, clock)
    await clock.advance(ms)
    expect(ending.state).toBe('rejected')
    return ending.reason as Error
  }
  const refusal = refusing(
    new StoreUnavailableError('refused the request', 'no', new Error('NOPERM no permissions to run this'), true),
  )

  it.each(['acquire', 'tryAcquire', 'inspect', 'revoke', 'isLocked'] as const)(
    'has the key and the line of the call: %s',
    async (call) => {
      for (const name of ['acquire', 'inspect', 'revoke'] as const) store.always(name, refusal)
      async function theCaller(): Promise<void> {
        await locker()[call]('k')
      }
      const error = await told(theCaller())
      expect(error.stack).toContain('theCaller')
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', key: 'k', refused: true })
      expect(error.message).toMatch(/^The lock store refused .*: NOPERM .*; give the user the permissions/)
    },
  )

  it('has the line of the call where many wait in line, and one error made an end to all', async () => {
    const locks = locker()
    await locks.acquire('a')
    await locks.acquire('b')
    async function theCaller(key: string): Promise<void> {
      await locks.withLock(key, { wait: '20s' }, () => undefined)
    }
    const waits = ['a', 'b', 'b'].map((key) => follow(theCaller(key), clock))
    await clock.advance(0)
    const closing = locks.close({ grace: 0 })
    await clock.advance(10_000)
    await closing
    for (const [index, { reason }] of waits.entries()) {
      expect(reason).toMatchObject({ code: 'CLOSED', key: ['a', 'b', 'b'][index] })
      expect((reason as Error).stack).toContain('theCaller')
    }
  })

  it('has the line of the call that waited behind this locker itself, and says so', async () => {
    const locks = locker()
    await locks.acquire('k')
    async function theCaller(): Promise<void> {
      await locks.acquire('k', { wait: '1s' })
    }
    const error = await told(theCaller(), 1_000)
    expect(error.stack).toContain('theCaller')
    expect(error).toMatchObject({ heldHere: true, waitedMs: 1_000, commands: 0 })
    expect(error.message).toBe(
      'Lock "k" is held by this locker itself after 1000 ms; allow a longer wait, or release the lease that it has',
    )
  })

  it.each([
    [{ wait: 0 }, 0, '"k" is held by another holder, and a call with wait: 0 tries once; allow a longer wait, or see'],
    [
      { budget: 1 },
      0,
      '"k" is held by another holder, and the call has spent its budget of 1 command in 0 ms; allow a larger',
    ],
    [
      { wait: 1_500 },
      1_500,
      /"k" is held by another holder after 1500 ms and \d commands; allow a longer wait, or see inspect/,
    ],
  ])('says how a wait ended: %j', async (options, ms, message) => {
    await locker().acquire('k', { ttl: '1h' })
    const error = await told(locker().acquire('k', options), ms)
    expect(error).toMatchObject({ key: 'k', heldHere: false, waitedMs: ms })
    if (typeof message === 'string') expect(error.message).toContain(message)
    else expect(error.message).toMatch(message)
  })

  it('counts late grants, and does not ask for a longer wait for them', () => {
    const late = (lateGrants: number) =>
      new AcquireTimeoutError('k', { waitedMs: 900, commands: 1, lateGrants }).message
    expect(late(1)).toBe(
      'Lock "k" was granted too late to be of use, once, in 900 ms and 1 command; allow a longer ttl or less minValidity',
    )
    expect(late(2)).toContain('of use, 2 times, in 900 ms')
  })

  it.each([
    ["OOM command not allowed when used memory > 'maxmemory'.", /'maxmemory'; free memory/],
    ['READONLY You can’t write against a read only replica.', /connect to the primary/],
    ['LOADING Redis is loading the dataset in memory', /is starting/],
    ['BUSY Redis is busy running a script.', /SCRIPT KILL/],
    ['MASTERDOWN Link with MASTER is down', /changing roles/],
    ['ERR Error running script: -OOM command not allowed', /free memory/],
    ['The server did not answer (HTTP 429: too many)', /ask less often/],
  ])('says what the server said, and what to do: %s', (words, message) => {
    const error = new StoreUnavailableError('gave no usable answer to acquire', 'no', new Error(words))
    expect(error.message).toMatch(message)
    expect(error.message).not.toContain('reachable')
    expect(error.message.length).toBeGreaterThan(words.length)
  })

  it('is told that the server cannot be reached where nothing was said', () => {
    const error = new StoreUnavailableError('gave no usable answer to renew', 'unknown')
    expect(error.message).toBe('The lock store gave no usable answer to renew; check that it is reachable')
  })

  it('names the key of a lease that was released, wherever that was noticed', async () => {
    const lease = await locker().acquire('k')
    await lease.release()
    expect(await told(lease.renew({ ttl: '5s' }))).toMatchObject({ code: 'LEASE_RELEASED', key: 'k' })
    const notHeld: unknown = undefined
    const held = await locker().acquire('other')
    const both = { ttl: '1s', by: '1s' } as unknown as { ttl: '1s' }
    for (const wrong of [notHeld as { ttl: number }, both]) {
      expect((await told(held.renew(wrong))).message).toBe('Option "ttl" must be given, or "by" instead, but not both')
    }
    await held.release()
  })
})

describe('what is printed of a lease', () => {
  it('is what its holder may know, without the token', async () => {
    const clock = new ManualClock()
    const locks = createLocker({ store: new ScriptedStore(clock), clock, name: 'orders-7' })
    const lease = await locks.acquire('k', { ttl: '10s' })
    const { key, fence, waitedMs, commands } = lease
    const shown = { key, fence, waitedMs, commands, remainingMs: 9_898 }
    expect(JSON.parse(JSON.stringify(lease))).toEqual(shown)
    expect(inspect(lease)).toBe(inspect(shown))
    expect(inspect(lease, { showHidden: true, depth: 5 })).not.toContain(lease.token)
    await lease.release()
    expect(JSON.parse(JSON.stringify(lease))).toMatchObject({ remainingMs: 0 })
  })
})

describe('no error tells a token', () => {
  it('in its message, or anywhere in what is printed of it', async () => {
    const clock = new ManualClock()
    const store = new ScriptedStore(clock)
    const locks = createLocker({ store, clock, name: 'orders-7', ttl: '3s', wait: '2s' })
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
