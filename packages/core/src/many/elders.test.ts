import { follow, ManualClock, requestLost, ScriptedNotifier, ScriptedStore, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { type AcquireOptions, poll } from '../index.ts'
import { memoryNotifier, memoryStore } from '../memory/index.ts'
import type { ManyStore } from '../store/many.ts'
import { drawAcquisitionId } from '../store/token.ts'
import { Call } from '../timing/call-deadline.ts'
import { acquireAll, type LeaseSet, tryAcquireAll } from './index.ts'
import { manyOf } from './many-of.ts'

const pair = ['x', 'y']

/** A scripted store whose releases are heard. */
function setUp() {
  const clock = new ManualClock()
  const memory = memoryStore({
    clock: {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs(),
      schedule: () => () => undefined,
    },
  })
  const store = new ScriptedStore(clock, memory)
  return testLocker({ clock, store, notifier: memoryNotifier(memory) })
}
let { locks, elsewhere, store, clock } = setUp()
beforeEach(() => {
  ;({ locks, elsewhere, store, clock } = setUp())
})

const tried = (): number => store.called('acquireAll').length
const held = (key: string) => elsewhere.acquire(key, { ttl: '1h', renew: false })
const called = (by = locks, options: AcquireOptions = {}, keys = pair) =>
  follow(acquireAll(by, keys, { wait: '1h', ...options }), clock)

describe.each(['one request', 'a request for each key'])('a set that has waited long, of %s', (how) => {
  beforeEach(() => {
    store.apart = how !== 'one request'
  })

  it.each([
    [900, false],
    [2_100, true],
  ])('for %s ms: is served before one that comes as its lock is given back: %s', async (waitedMs, isFirst) => {
    const holder = await held('x')
    const waiting = called()
    await clock.advance(waitedMs)
    let newcomer: Promise<LeaseSet | null> | undefined
    store.next('release', ({ execute }) => {
      const answer = execute()
      newcomer = tryAcquireAll(elsewhere, pair)
      return answer
    })
    await holder.release()
    await clock.advance(0)
    expect([(await newcomer) === null, waiting.state === 'fulfilled']).toEqual([isFirst, isFirst])
  })

  it.each(['served', 'aborted'])('is no longer in the way once it is %s', async (end) => {
    const holder = await held('x')
    const abort = new AbortController()
    const waiting = called(locks, { signal: abort.signal })
    await clock.advance(2_100)
    if (end === 'aborted') abort.abort()
    await clock.advance(0)
    await holder.release()
    await clock.advance(0)
    expect(waiting.state).toBe(end === 'served' ? 'fulfilled' : 'rejected')
    await waiting.value?.release()
    expect(await tryAcquireAll(elsewhere, pair)).not.toBeNull()
  })
})

describe('the elder of a set of locks', () => {
  it('is in the way for no longer than the store knows of it if it vanishes', async () => {
    const holder = await held('x')
    const abort = new AbortController()
    const vanishing = called(locks, { signal: abort.signal })
    await clock.advance(2_100)
    store.always('acquireAll', requestLost)
    abort.abort()
    await clock.advance(0)
    expect(vanishing.state).toBe('rejected')
    await clock.advance(500)
    store.always('acquireAll', ({ execute }) => execute())
    await holder.release()
    expect(await tryAcquireAll(elsewhere, pair)).toBeNull()
    const next = called()
    await clock.advance(1_300)
    expect(next.state).toBe('fulfilled')
  })

  it('is the one that has waited longest, and the others follow in their order', async () => {
    const holder = await held('x')
    const order: string[] = []
    const work = async (name: string, by: typeof locks): Promise<void> => {
      await using _ = await acquireAll(by, pair, { wait: '1h' })
      order.push(name)
    }
    // The second polls, and may ask first.
    const all = [work('first', elsewhere)]
    await clock.advance(1_500)
    all.push(work('second', locks))
    await clock.advance(3_000)
    await holder.release()
    await clock.advance(2_000)
    await Promise.all(all)
    expect(order).toEqual(['first', 'second'])
  })

  it('is none any more once one that has waited longer is known for any of its locks', async () => {
    const many = manyOf(memoryStore({ clock })) as ManyStore
    const ids = new Map<string, string>()
    const ask = (keys: readonly string[], waitedMs: number) => {
      const locks = keys.map((key) => {
        const name = `${key} of ${keys}`
        const acquisitionId = ids.get(name) ?? drawAcquisitionId()
        ids.set(name, acquisitionId)
        return { key, acquisitionId }
      })
      return many.acquireAll({ locks, ttlMs: 10_000, waitedMs }, new Call(1_000))
    }
    await ask(['b'], 0)
    expect(await ask(['a', 'b'], 2_000)).toMatchObject({ isElder: true })
    expect(await ask(['b', 'c'], 4_000)).toMatchObject({ isElder: true })
    expect(await ask(['a', 'b'], 2_000)).toMatchObject({ isElder: false })
    expect(await ask(['a'], 0)).toMatchObject({ type: 'granted' })
  })

  it('asks soon again when the lock has gone to another, and not on its beat', async () => {
    const holder = await held('x')
    void called(elsewhere, { strategy: poll({ every: '10s' }) }, ['x'])
    await clock.advance(60_000)
    await holder.release()
    await held('x')
    for (const before = tried(); tried() === before; ) await clock.advance(10)
    const before = tried()
    await clock.advance(80)
    expect(tried() - before).toBe(3)
  })

  it('asks a few times more than it was told to while one holder has the lock for long', async () => {
    await held('x')
    const asking = called(locks, { recheck: '10m' })
    const polling = called(elsewhere, { strategy: poll({ every: '10m' }) }, ['x'])
    await clock.advance(30 * 60_000)
    expect([asking.state, polling.state]).toEqual(['pending', 'pending'])
    expect(tried()).toBeLessThan(40)
  })

  it('that vanishes keeps nobody waiting whose notifier has nothing to tell', async () => {
    const holder = await held('x')
    const abort = new AbortController()
    void called(elsewhere, { signal: abort.signal })
    await clock.advance(2_100)
    store.always('acquireAll', requestLost)
    abort.abort()
    await clock.advance(0)
    store.always('acquireAll', ({ execute }) => execute())
    await holder.release()
    const { locks: hearing } = testLocker({ clock, store, notifier: new ScriptedNotifier({ checks: true }) })
    const late = called(hearing, { recheck: '1h' })
    await clock.advance(0)
    expect(late.state).toBe('pending')
    await clock.advance(2_000)
    expect(late.state).toBe('fulfilled')
  })
})
