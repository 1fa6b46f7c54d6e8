import { follow, testLocker } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import { type QueueingProcess, queueing } from '../../test/queueing.ts'
import { createLocker, type Lease } from '../index.ts'
import { fifo, priority } from './index.ts'

/** Queues under a name, and gives the lock back as soon as it has it. */
function visit(process: QueueingProcess, name: string, order: string[], queue = fifo()): void {
  void process.locks.acquire('k', { queue }).then((lease) => {
    order.push(name)
    return lease.release()
  })
}

describe('waiters in a queue get the lock', () => {
  it('in the order in which they asked, whichever process they are in', async () => {
    const { clock, process } = queueing()
    const [one, two, three] = [process(), process(), process()]
    const held = await one.locks.acquire('k')
    const order: string[] = []
    for (const [name, by] of Object.entries({ a: two, b: one, c: three, d: two, e: two, f: one })) {
      visit(by, name, order)
      await clock.advance(1)
    }
    await held.release()
    await clock.advance(0)
    expect(order.join('')).toBe('abcdef')
  })

  it('in the order in which one turn called for them', async () => {
    const { clock, process } = queueing()
    const one = process()
    const order: string[] = []
    for (const name of 'abcdefgh') visit(one, name, order)
    await clock.advance(0)
    expect(order.join('')).toBe('abcdefgh')
  })

  it('by priority, 1 first, and in order of arrival within one', async () => {
    const { clock, process } = queueing()
    const [one, two] = [process(), process()]
    const held = await one.locks.acquire('k')
    const order: string[] = []
    for (const [name, level] of Object.entries({ low: 10, middle: 5, 'middle too': 5, high: 1, 'high too': 1 })) {
      visit(level === 5 ? one : two, name, order, priority(level))
      await clock.advance(1)
    }
    await held.release()
    await clock.advance(0)
    expect(order).toEqual(['high', 'high too', 'middle', 'middle too', 'low'])
  })

  it('although later ones of a higher priority keep coming: each step is worth 2 s', async () => {
    const { clock, process } = queueing()
    const one = process()
    const held = await one.locks.acquire('k')
    const order: string[] = []
    visit(one, 'low', order, priority(3))
    await clock.advance(3_900)
    visit(one, 'in time', order, priority(1))
    await clock.advance(200)
    visit(one, 'too late', order, priority(1))
    await clock.advance(0)
    await held.release()
    await clock.advance(0)
    expect(order).toEqual(['in time', 'low', 'too late'])
  })

  it('with one release and one acquire for each hand-off, and nothing to send while they wait for less than a recheck', async () => {
    const { clock, process } = queueing()
    const [one, two] = [process(), process()]
    const held = await one.locks.acquire('k')
    const order: string[] = []
    for (const name of 'abcd') visit(two, name, order)
    await clock.advance(900)
    // The first tries before it enters.
    expect(two.commands()).toEqual([...Array(5).fill('queue.acquire'), 'queue.look'])
    await held.release()
    await clock.advance(0)
    expect(order.join('')).toBe('abcd')
    expect(two.commands().toSorted()).toEqual([...Array(4).fill('queue.acquire'), ...Array(4).fill('queue.release')])
  })
})

describe('a call that queues', () => {
  it('takes a free lock with one command', async () => {
    const { process } = queueing()
    const one = process()
    const lease = await one.locks.acquire('k')
    expect(one.commands()).toEqual(['queue.acquire'])
    expect(lease.commands).toBe(1)
    expect(await lease.release()).toBe('released')
    expect(one.commands()).toEqual(['queue.release'])
    expect(one.clock.pending).toBe(0)
  })

  it.each(['acquire', 'withLock', 'tryAcquire', 'for'])('may be any: %s', async (call) => {
    const { process } = queueing()
    const { locks, commands } = process({ queue: undefined })
    const queue = fifo()
    const work = async (lease: Lease): Promise<number> => lease.fence
    if (call === 'acquire') await (await locks.acquire('k', { queue })).release()
    if (call === 'withLock') await locks.withLock('k', { queue }, work)
    if (call === 'tryAcquire') await (await locks.tryAcquire('k', { queue }))?.release()
    if (call === 'for') await locks.for('k', { queue }).withLock(work)
    expect(commands()).toEqual(['queue.acquire', 'queue.release'])
  })

  it('tells of itself as any other: contended, acquired, released', async () => {
    const { clock, process } = queueing()
    const [one, two] = [process({ name: 'one' }), process()]
    const held = await one.locks.acquire('k')
    const waiting = two.queue()
    await clock.advance(500)
    await held.release()
    await clock.advance(0)
    await waiting.value?.release()
    expect(waiting.value).toMatchObject({ waitedMs: 500, commands: 3 })
    expect(two.events).toMatchObject([
      { type: 'contended', key: 'k' },
      { type: 'acquired', key: 'k', waitedMs: 500, commands: 3 },
      { type: 'released', key: 'k', outcome: 'released' },
    ])
  })

  it('excludes those that do not queue, and is excluded by them', async () => {
    const { clock, process } = queueing()
    const one = process()
    const plain = createLocker({ store: one.store, clock })
    const held = await one.locks.acquire('k')
    expect(await plain.tryAcquire('k')).toBeNull()
    await held.release()
    await using _ = await plain.acquire('k')
    expect(await one.locks.tryAcquire('k')).toBeNull()
  })

  it('without a wait takes only what nobody queues for, and leaves nothing in the queue', async () => {
    const { clock, process } = queueing()
    const [one, two] = [process(), process()]
    const held = await one.locks.acquire('k')
    expect(await two.locks.tryAcquire('k')).toBeNull()
    two.isDeaf = true
    const waiting = two.queue()
    await clock.advance(0)
    await held.release()
    // The lock is free now, and the turn is with a waiter that does not know it yet.
    expect(await one.locks.tryAcquire('k')).toBeNull()
    await clock.advance(1_000)
    expect(waiting.state).toBe('fulfilled')
    await waiting.value?.release()
    expect(await (await one.locks.tryAcquire('k'))?.release()).toBe('released')
  })

  it('renews its lease with those of others', async () => {
    const { clock, process } = queueing()
    const one = process({ ttl: '3s', queue: undefined })
    const leases = [await one.locks.acquire('k', { queue: fifo() }), await one.locks.acquire('plain')]
    one.commands()
    await clock.advance(30_000)
    expect(leases.map(({ signal }) => signal.aborted)).toEqual([false, false])
    expect(new Set(one.commands())).toEqual(new Set(['renew']))
  })

  it('is refused by name where the store has no queues, before anything is sent', async () => {
    const { store, clock } = testLocker()
    const bare = { ...plainStoreOf(store) }
    const locks = createLocker({ store: bare, clock })
    const refused = follow(locks.acquire('k', { queue: fifo() }), clock)
    await clock.advance(0)
    expect(refused.reason).toMatchObject({ code: 'INVALID_OPTION', option: 'queue' })
    expect(store.calls).toEqual([])
  })

  it.each([0, 11, 1.5, Number.NaN, '1'])('is refused by name with the priority %s', (level) => {
    expect(() => priority(level as number)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', option: 'priority' }),
    )
  })

  it.each([true, {}, 'fifo', fifo])('is refused by name with the queue %s', async (queue) => {
    const { locks } = testLocker()
    await expect(locks.acquire('k', { queue } as never)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      option: 'queue',
    })
  })
})

/** The store's own calls, without what it offers beside them. */
const plainStoreOf = (store: ReturnType<typeof testLocker>['store']) => ({
  commandDeadlineMs: store.commandDeadlineMs,
  nodeOf: store.nodeOf.bind(store),
  whenReady: store.whenReady.bind(store),
  acquire: store.acquire.bind(store),
  renew: store.renew.bind(store),
  release: store.release.bind(store),
  checkHolders: store.checkHolders.bind(store),
  inspect: store.inspect.bind(store),
  revoke: store.revoke.bind(store),
})
