import { AsyncLocalStorage } from 'node:async_hooks'
import { type Fate, follow, replyAfter, replyLost, requestLost, testLocker } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { InvalidOptionError, type Lease, type LockerEvent } from '../index.ts'

let { locks, store, clock, elsewhere } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock, elsewhere } = testLocker())
})
afterEach(() => {
  vi.unstubAllGlobals()
})

const keys = (count: number): string[] => Array.from({ length: count }, (_, index) => `k${index}`)
const sizes = (name: 'acquire' | 'release' | 'renew'): number[] =>
  store.called(name).map(({ requests }) => requests.length)
const order = (): string[] => store.calls.map(({ name, requests }) => `${name} ${requests.length}`)
const validMs = (ttlMs: number): number => ttlMs - ttlMs / 100 - 2

describe('calls of one turn', () => {
  it('share a command: acquires, renewals and releases of different keys, each verb its own', async () => {
    const leases = await Promise.all(keys(10).map((key) => locks.acquire(key)))
    await Promise.all(leases.map((lease) => lease.renew({ ttl: '20s' })))
    await Promise.all([...leases.map((lease) => lease.release()), ...keys(3).map((key) => locks.tryAcquire(`n${key}`))])
    expect(order()).toEqual(['acquire 10', 'renew 10', 'release 10', 'acquire 3'])
    expect(leases.map(({ fence }) => fence)).toEqual(leases.map(() => expect.any(Number)))
  })

  it('share it although one of them took a few promises more to get there', async () => {
    const roundabout = async (key: string, turns: number): Promise<Lease> => {
      for (let turn = 0; turn < turns; turn++) await null
      return locks.acquire(key)
    }
    await Promise.all([roundabout('a', 0), roundabout('b', 1), roundabout('c', 2), roundabout('d', 3)])
    expect(order()).toEqual(['acquire 4'])
  })

  it('leave in that turn, whether alone or together: no timer comes first', async () => {
    const first = locks.acquire('a')
    for (let turn = 0; turn < 5; turn++) await null
    expect(order()).toEqual(['acquire 1'])
    await first
    expect(clock.monotonicMs()).toBe(0)
  })

  it('are 64 to a command at most', async () => {
    await Promise.all(keys(200).map((key) => locks.acquire(key)))
    expect(sizes('acquire')).toEqual([64, 64, 64, 8])
  })

  it('leave as two commands if they are many and the store takes two at a time, unless it has something to do already', async () => {
    store.inNextWrite = (send) => send()
    const leases = await Promise.all(keys(15).map((key) => locks.acquire(key)))
    await Promise.all(leases.slice(8).map((lease) => lease.release()))
    store.next('acquire', replyAfter(5))
    void Promise.all(['a', 'b'].map((key) => locks.acquire(key)))
    await clock.advance(1)
    await Promise.all(leases.slice(0, 8).map((lease) => lease.release()))
    expect(order()).toEqual(['acquire 8', 'acquire 7', 'release 7', 'acquire 2', 'release 8'])
  })

  it('leave as two commands, the second in a write of its own, which calls may join until then', async () => {
    let sendNext: () => void = () => undefined
    store.inNextWrite = (send) => {
      sendNext = send
    }
    store.next('acquire', replyAfter(5))
    const asked = keys(16).map((key) => locks.acquire(key))
    await clock.advance(0)
    expect(order()).toEqual(['acquire 8'])
    asked.push(locks.acquire('later'))
    await clock.advance(0)
    expect(order()).toEqual(['acquire 8'])
    sendNext()
    await clock.advance(5)
    await Promise.all(asked)
    expect(order()).toEqual(['acquire 8', 'acquire 9'])
  })

  it('and before that next write, nothing leaves out of order or in the async context of a caller, whoever comes', async () => {
    const contexts: (string | undefined)[] = []
    const callers = new AsyncLocalStorage<string>()
    let sendNext: () => void = () => undefined
    const leases = await Promise.all(keys(16).map((key) => locks.acquire(key)))
    store.calls.length = 0
    store.inNextWrite = (send) => {
      sendNext = send
    }
    for (const verb of ['acquire', 'release'] as const) {
      const behind = store[verb].bind(store) as (...args: unknown[]) => never
      store[verb] = (...args: unknown[]) => {
        contexts.push(callers.getStore())
        return behind(...args)
      }
    }
    store.next('release', replyAfter(5))
    const released = leases.map((lease) => lease.release())
    await clock.advance(0)
    const again = keys(16).map((key) => callers.run('another', () => locks.tryAcquire(key)))
    await clock.advance(0)
    const lone = callers.run('lone', () => locks.tryAcquire('lone'))
    await clock.advance(0)
    expect(order()).toEqual(['release 8'])
    sendNext()
    await clock.advance(5)
    expect(await Promise.all(released)).toEqual(leases.map(() => 'released'))
    expect(await Promise.all([...again, lone])).not.toContain(null)
    expect(order()).toEqual(['release 8', 'release 8', 'acquire 17'])
    expect(contexts).toEqual([undefined, undefined, undefined])
  })

  it('and before that next write, a lone call waits its turn, too, and is certainly not sent if its time is over', async () => {
    const held = await locks.acquire('held')
    store.inNextWrite = () => undefined
    store.next('acquire', replyAfter(5))
    void Promise.allSettled(keys(16).map((key) => locks.acquire(key)))
    await clock.advance(0)
    const releasing = follow(held.release(), clock)
    await clock.advance(5_000)
    expect(store.called('release').filter(({ atMs }) => atMs === 0)).toEqual([])
    expect(releasing.value).toBe('unknown')
  })

  it('leave at once if the store cannot say when the next write is', async () => {
    store.inNextWrite = () => {
      throw new Error('broken adapter')
    }
    await Promise.all(keys(16).map((key) => locks.acquire(key)))
    expect(order()).toEqual(['acquire 8', 'acquire 8'])
  })

  it('and wait for a next write that never comes end in time, and so do all that come later', async () => {
    store.inNextWrite = () => undefined
    const ask = (key: string, ttl: '1s' | '10s') => follow(locks.acquire(key, { ttl, wait: '3s' }), clock)
    const asked = keys(16).map((key) => ask(key, '1s'))
    await clock.advance(0)
    // The first joins the command that waits. The second does not: it may wait for an answer much longer.
    const waiting = [...asked.slice(8), ask('later', '1s'), ask('later too', '10s')]
    await clock.advance(3_100)
    expect(asked.slice(0, 8).map(({ state }) => state)).toEqual(asked.slice(0, 8).map(() => 'fulfilled'))
    for (const call of waiting) expect(call).toMatchObject({ reason: { code: 'STORE_UNAVAILABLE', executed: 'no' } })
    expect(Math.max(...waiting.map(({ atMs }) => atMs ?? Infinity))).toBeLessThanOrEqual(3_000)
  })

  it('and lie in two commands are given up one by one all the same', async () => {
    store.inNextWrite = (send) => send()
    const stop = new AbortController()
    const asked = keys(16).map((key) =>
      locks.acquire(key, key === 'k3' || key === 'k12' ? { signal: stop.signal } : {}),
    )
    for (let turn = 0; turn < 6; turn++) await null
    stop.abort('changed my mind')
    const ended = await Promise.allSettled(asked)
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(14)
    await clock.advance(60_000)
    expect([await elsewhere.isLocked('k3'), await elsewhere.isLocked('k12')]).toEqual([false, false])
  })

  it('do not share one with calls that may wait more than twice as long', async () => {
    const wishes = ['600ms', '1s', '2s', '5s', '10s'] as const
    await Promise.all(wishes.map((ttl) => locks.acquire(ttl, { ttl })))
    const ttls = store.called('acquire').map(({ requests }) => requests.map(({ ttlMs }) => ttlMs))
    expect(ttls).toEqual([[600, 1_000], [2_000], [5_000, 10_000]])
  })

  it('release before they acquire, so that a key which is released and acquired in one turn is free', async () => {
    const lease = await locks.acquire('a')
    const other = locks.tryAcquire('b')
    void lease.release()
    const again = locks.tryAcquire('a')
    expect(await Promise.all([other, again])).not.toContain(null)
    expect(order()).toEqual(['acquire 1', 'release 1', 'acquire 2'])
  })

  it('share nothing where calls may not', async () => {
    vi.stubGlobal('EdgeRuntime', 'edge-runtime')
    await Promise.all(keys(3).map((key) => locks.acquire(key)))
    expect(sizes('acquire')).toEqual([1, 1, 1])
  })
})

describe('nobody pays for a neighbour', () => {
  it('a call given up before its command leaves is taken out of it, and nothing of it is sent or undone', async () => {
    const stop = new AbortController()
    const [gone, staying] = [locks.acquire('gone', { signal: stop.signal }), locks.acquire('staying')]
    stop.abort('changed my mind')
    await expect(gone).rejects.toBe('changed my mind')
    await staying
    await clock.advance(60_000)
    expect(store.called('acquire').flatMap(({ requests }) => requests.map(({ key }) => key))).toEqual(['staying'])
    expect(store.called('release')).toEqual([])
  })

  it('a call given up later ends alone', async () => {
    const stop = new AbortController()
    store.next('acquire', replyAfter(300))
    const gone = follow(locks.acquire('gone', { signal: stop.signal }), clock)
    const staying = follow(locks.acquire('staying'), clock)
    await clock.advance(100)
    stop.abort('changed my mind')
    await clock.advance(200)
    expect([gone.reason, staying.state]).toEqual(['changed my mind', 'fulfilled'])
    expect(await elsewhere.isLocked('gone')).toBe(false)
    expect(sizes('acquire')).toEqual([2])
  })

  it('what the store refuses to send for one is sent for the others', async () => {
    const picky: Fate = ({ requests, execute }) =>
      requests.some(({ key }) => key === 'bad') ? Promise.reject(new InvalidOptionError('key', 'is bad')) : execute()
    store.always('acquire', picky)
    const results = await Promise.allSettled(['a', 'bad', 'c'].map((key) => locks.acquire(key)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(results[1]).toMatchObject({ reason: { code: 'INVALID_OPTION', option: 'key' } })
    expect(sizes('acquire')).toEqual([3, 1, 1, 1])
  })

  it.each([requestLost, replyLost])('and hangs nobody who is then sent alone and gets no answer', async (fate) => {
    const alone: Fate = (sending) =>
      sending.requests.length > 1 ? Promise.reject(new InvalidOptionError('key', 'is bad')) : fate(sending)
    store.always('acquire', alone)
    const waiting = follow(Promise.allSettled(keys(2).map((key) => locks.acquire(key, { wait: '5s' }))), clock)
    await clock.advance(5_100)
    expect(waiting.value?.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })

  it('and sends nothing for a caller who has given up since', async () => {
    let reject: ((error: unknown) => void) | undefined
    store.next(
      'acquire',
      () =>
        new Promise((_, fail) => {
          reject = fail
        }),
    )
    const stop = new AbortController()
    const gone = follow(locks.acquire('gone', { signal: stop.signal }), clock)
    const staying = follow(locks.acquire('staying'), clock)
    await clock.advance(10)
    stop.abort('changed my mind')
    await clock.advance(10)
    reject?.(new InvalidOptionError('key', 'is bad'))
    await clock.advance(10)
    expect([gone.reason, staying.state]).toEqual(['changed my mind', 'fulfilled'])
    const alone = store.called('acquire').slice(1)
    expect(alone.flatMap(({ requests }) => requests.map(({ key }) => key))).toEqual(['staying'])
  })

  it('and a store that throws, where it may only reject, hangs nobody either', async () => {
    const behind = store.acquire.bind(store)
    vi.spyOn(store, 'acquire').mockImplementation((requests, call) => {
      if (requests.some(({ key }) => key === 'bad')) throw new InvalidOptionError('key', 'is bad')
      return behind(requests, call)
    })
    const results = await Promise.allSettled(['a', 'bad', 'c'].map((key) => locks.acquire(key)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  it.each([null, { type: 'granted' }, { type: 'held' }])(
    'nor for an outcome that cannot be read: %j',
    async (outcome) => {
      const oneBroken: Fate = async ({ execute }) =>
        (await execute()).map((each, at) => (at === 1 ? outcome : each) as never)
      store.always('acquire', oneBroken)
      const results = follow(Promise.allSettled(keys(3).map((key) => locks.acquire(key, { wait: '1s' }))), clock)
      await clock.advance(1_001)
      expect(results.value?.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    },
  )

  it('one outcome is unknown: only that call asks again', async () => {
    const oneLost: Fate = async ({ execute }) => {
      const [first, ...others] = await execute()
      return [{ type: 'unknown', executed: 'unknown' }, ...(first ? others : [])]
    }
    store.next('acquire', oneLost)
    const leases = follow(Promise.all(keys(3).map((key) => locks.acquire(key))), clock)
    await clock.advance(100)
    expect(leases.state).toBe('fulfilled')
    expect(store.called('acquire').map(({ requests }) => requests.map(({ key }) => key))).toEqual([
      ['k0', 'k1', 'k2'],
      ['k0'],
    ])
  })

  it.each([
    ['request', requestLost],
    ['reply', replyLost],
  ] as const)('a lost %s costs each an attempt, and all are granted by the next', async (_, fate) => {
    store.next('acquire', fate)
    const leases = follow(Promise.all(keys(20).map((key) => locks.acquire(key))), clock)
    await clock.advance(999)
    expect(leases.state).toBe('pending')
    await clock.advance(1)
    expect(leases.state).toBe('fulfilled')
    expect(sizes('acquire')).toEqual([20, 20])
    for (const lease of leases.value ?? []) expect(lease.remaining()).toBe(validMs(10_000))
  })
})

describe('while the store is not ready', () => {
  const cause = new Error('connect ECONNREFUSED')
  let ready: () => void
  /** Makes the store not ready until `ready` is called. A call that is over learns why it had to wait, a bit later. */
  const notReady = (): void => {
    let isReady = false
    const waiting: (() => void)[] = []
    ready = () => {
      isReady = true
      for (const resolve of waiting) resolve()
    }
    store.whenReady = (_, call) => {
      if (isReady) return undefined
      const changed = new Promise<void>((resolve) => {
        waiting.push(resolve)
        call.onOver(resolve)
      })
      return changed.then(() => (isReady ? undefined : { type: 'unknown', executed: 'no', cause }))
    }
  }

  it('calls wait for it, and leave together then', async () => {
    notReady()
    const leases = follow(Promise.all(keys(20).map((key) => locks.acquire(key))), clock)
    await clock.advance(500)
    expect(store.calls).toEqual([])
    ready()
    await clock.advance(0)
    expect(order()).toEqual(['acquire 20'])
    for (const lease of leases.value ?? []) expect(lease.remaining()).toBe(validMs(10_000))
  })

  it('a call that is given up sends nothing, then or later: there is nothing to undo', async () => {
    notReady()
    const stop = new AbortController()
    const gone = follow(locks.acquire('gone', { signal: stop.signal }), clock)
    await clock.advance(100)
    stop.abort('changed my mind')
    await clock.advance(0)
    expect(gone.reason).toBe('changed my mind')
    ready()
    await clock.advance(60_000)
    expect(store.calls).toEqual([])
    expect(clock.pending).toBe(0)
  })

  it('a call that is given up undoes what it sent before', async () => {
    store.next('acquire', replyLost)
    const stop = new AbortController()
    const gone = follow(locks.acquire('gone', { signal: stop.signal }), clock)
    await clock.advance(100)
    notReady()
    await clock.advance(1_000)
    stop.abort('changed my mind')
    await clock.advance(0)
    expect(gone.state).toBe('rejected')
    ready()
    await clock.advance(1_000)
    expect(order()).toEqual(['acquire 1', 'release 1'])
    expect(await elsewhere.isLocked('gone')).toBe(false)
  })

  it('a call that waits in vain is told that nothing was sent, and why', async () => {
    notReady()
    const waiting = follow(locks.acquire('k', { wait: '1s' }), clock)
    await clock.advance(1_001)
    expect(waiting.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'no', cause })
    ready()
    await clock.advance(60_000)
    expect(store.calls).toEqual([])
  })
})

describe('a burst', () => {
  it('leaves in portions, each lease dated when its portion left', async () => {
    store.always('acquire', replyAfter(100))
    const leases = follow(
      Promise.all(keys(10_000).map((key) => locks.acquire(key, { ttl: '3s', renew: false }))),
      clock,
    )
    await clock.advance(100)
    expect(store.mostAtOnce('acquire')).toBe(16)
    expect(sizes('acquire').reduce((sum, size) => sum + size)).toBeLessThanOrEqual(2 * 16 * 64)
    await clock.advance(2_000)
    expect(leases.state).toBe('fulfilled')
    expect(store.mostAtOnce('acquire')).toBe(16)
    // The last portion leaves a second after the first, and its leases may be trusted as long as those of the first.
    const longest = Math.max(...(leases.value ?? []).map((lease) => lease.remaining()))
    const sinceLastMs = clock.monotonicMs() - Math.max(...store.called('acquire').map(({ atMs }) => atMs))
    expect(longest).toBe(validMs(3_000) - sinceLastMs)
  })

  it('a call given up before its portion has left was certainly not sent', async () => {
    store.always('acquire', requestLost)
    const stop = new AbortController()
    const waiting = keys(1_024).map((key) => follow(locks.acquire(key, { wait: '1m' }), clock))
    const held = follow(locks.acquire('held', { wait: '1m', signal: stop.signal }), clock)
    await clock.advance(0)
    stop.abort('left')
    await clock.advance(0)
    expect(held.reason).toBe('left')
    store.always('acquire', replyAfter(1))
    await clock.advance(30_000)
    expect(new Set(waiting.map(({ state }) => state))).toEqual(new Set(['fulfilled']))
    expect(store.calls.flatMap(({ requests }) => requests).map(({ key }) => key)).not.toContain('held')
  })

  it('leaves in the async context of none of its callers, whoever is answered first', async () => {
    const contexts: (string | undefined)[] = []
    const callers = new AsyncLocalStorage<string>()
    const behind = store.acquire.bind(store)
    store.acquire = (...call) => {
      contexts.push(callers.getStore())
      return behind(...call)
    }
    for (let command = 0; command < 15; command++) store.next('acquire', replyAfter(100))
    const many = keys(15 * 64).map((key) => locks.acquire(key))
    await clock.advance(0)
    store.next('acquire', replyAfter(1))
    const lone = callers.run('lone', () => locks.acquire('lone'))
    await clock.advance(0)
    const held = keys(2).map((key) => locks.acquire(`held ${key}`))
    await clock.advance(0)
    expect(contexts).toHaveLength(16)
    await clock.advance(100)
    await Promise.all([...many, lone, ...held])
    expect(contexts.slice(15)).toEqual(['lone', undefined])
  })

  it('goes on when all calls of a command that had to wait its turn are given up in the turn they were made', async () => {
    store.always('acquire', requestLost)
    const waiting = keys(1_024).map((key) => follow(locks.acquire(key, { wait: '1m' }), clock))
    await clock.advance(0)
    const stop = new AbortController()
    const gone = follow(locks.acquire('gone', { signal: stop.signal }), clock)
    stop.abort('left')
    await clock.advance(0)
    expect(gone.reason).toBe('left')
    store.always('acquire', replyAfter(1))
    const later = follow(locks.acquire('later', { wait: '1m' }), clock)
    await clock.advance(30_000)
    expect(new Set([...waiting, later].map(({ state }) => state))).toEqual(new Set(['fulfilled']))
  })

  it('that waited until the store was ready makes nobody else wait longer than his deadline', async () => {
    const lease = await locks.acquire('mine', { ttl: '600ms', renew: false })
    const { promise, resolve } = Promise.withResolvers<undefined>()
    store.whenReady = () => promise
    for (const verb of ['acquire', 'release'] as const) store.always(verb, requestLost)
    for (const key of keys(1_100)) locks.acquire(key, { wait: '1m' }).catch(() => undefined)
    await clock.advance(800)
    store.whenReady = () => undefined
    resolve(undefined)
    await clock.advance(150)
    const short = follow(locks.tryAcquire('short', { ttl: '600ms' }), clock)
    const release = follow(lease.release(), clock)
    await clock.advance(10_000)
    expect([short.atMs, release.atMs]).toEqual([950 + 200, 950 + 200])
  })

  it('holds nobody beyond his wait, also who joins a command that has waited for long', async () => {
    // Slow, but within the deadline.
    store.always('acquire', replyAfter(1_900))
    for (const key of keys(1_025)) locks.acquire(key, { wait: '1m' }).catch(() => undefined)
    await clock.advance(1_100)
    const waits = [0, 900, 1_000, 1_500].map((wait) => ({
      boundMs: 1_100 + (wait || 2_000),
      joined: follow(locks.acquire(`x${wait}`, { wait }), clock),
    }))
    await clock.advance(10_000)
    for (const { boundMs, joined } of waits) expect(joined.atMs).toBeLessThanOrEqual(boundMs)
  })

  it('holds nobody beyond his wait whose command had to wait for its turn and then meets silence', async () => {
    for (let command = 0; command < 16; command++) store.next('acquire', replyAfter(900))
    store.always('acquire', requestLost)
    for (const key of keys(1_024)) locks.acquire(key, { wait: '1m' }).catch(() => undefined)
    const late = follow(locks.acquire('late', { wait: 1_500 }), clock)
    await clock.advance(10_000)
    expect(late.atMs).toBe(1_500)
  })

  it('waits for the answer to the last command that a budget allows', async () => {
    store.always('acquire', replyAfter(900))
    const all = keys(3_000).map((key) => follow(locks.acquire(key, { budget: 1 }), clock))
    await clock.advance(10_000)
    expect(new Set(all.map(({ state }) => state))).toEqual(new Set(['fulfilled']))
  })

  it('that meets a silent store fails as one that did not answer, and hangs nobody', async () => {
    store.always('acquire', requestLost)
    const tries = keys(5_000).map((key) => follow(locks.tryAcquire(key, { ttl: '3s' }), clock))
    await clock.advance(1_001)
    for (const { reason } of tries) expect(reason).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await clock.advance(60_000)
    expect(clock.pending).toBe(0)
  })
})

describe('a process that was busy itself', () => {
  it('does not take an answer that lies unread for silence', async () => {
    const busy: Fate = async ({ execute }) => {
      const outcomes = await execute()
      // The answer has arrived, but nobody reads it for longer than the time of an attempt.
      clock.schedule(() => clock.block(900), 1)
      await new Promise<void>((resolve) => clock.schedule(resolve, 901))
      return outcomes
    }
    store.next('acquire', busy)
    const acquiring = follow(locks.acquire('k', { ttl: '3s' }), clock)
    await clock.advance(1_000)
    expect(acquiring.value?.commands).toBe(1)
  })

  it('still asks again if no answer comes then', async () => {
    store.next('acquire', requestLost)
    const acquiring = follow(locks.acquire('k', { ttl: '3s' }), clock)
    await clock.advance(1)
    clock.block(900)
    await clock.advance(2_000)
    expect(acquiring.value?.commands).toBe(2)
  })
})

describe('events of calls that shared a command', () => {
  it('come in the async context of their own call', async () => {
    const callers = new AsyncLocalStorage<string>()
    const heard: string[] = []
    const onEvent = ({ type, ...event }: LockerEvent): void => {
      if (type === 'released' || type === 'wanted')
        heard.push(`${type} in ${callers.getStore()}, ${JSON.stringify(event)}`)
    }
    const { locks } = testLocker({ onEvent })
    const acquiring = ['a', 'b'].map((key) => callers.run(`acquire ${key}`, () => locks.acquire(key)))
    const next = callers.run('next', () => locks.acquire('a'))
    const leases = await Promise.all(acquiring)
    await Promise.all(leases.map((lease, at) => callers.run(`release ${at}`, () => lease.release())))
    await (await next).release()
    expect(heard).toMatchObject([
      expect.stringMatching(/^wanted in acquire a, /),
      expect.stringMatching(/^released in release 0, .*"a"/),
      expect.stringMatching(/^released in release 1, .*"b"/),
      expect.stringMatching(/^released in undefined, .*"a"/),
    ])
  })
})

describe('a call without company', () => {
  it('is dated when it leaves, if its caller kept the process busy until then', async () => {
    const acquiring = locks.acquire('k', { ttl: '3s' })
    clock.block(1_500)
    const lease = await acquiring
    expect(lease.remaining()).toBe(validMs(3_000))
    expect(lease.waitedMs).toBe(1_500)
  })

  it('is never sent if it is given up in the turn in which it was made', async () => {
    const caller = new AbortController()
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    caller.abort(new Error('changed my mind'))
    await clock.advance(10_000)
    expect(acquiring.reason).toBe(caller.signal.reason)
    expect(store.calls).toEqual([])
  })
})

describe('a call that is given up', () => {
  it.each([1, 2])('leaves no timer, though the store never answers: %d in the command', async (count) => {
    store.always('acquire', () => new Promise(() => undefined))
    const stop = new AbortController()
    const calls = keys(count).map((key) => follow(locks.acquire(key, { signal: stop.signal }), clock))
    await clock.advance(10)
    stop.abort('left')
    await clock.advance(0)
    expect(calls.map(({ reason }) => reason)).toEqual(calls.map(() => 'left'))
    // The undoing is in flight.
    expect(clock.timers.filter(({ dueInMs }) => dueInMs < 1_000).length).toBeLessThanOrEqual(
      store.called('release').length,
    )
  })
})
