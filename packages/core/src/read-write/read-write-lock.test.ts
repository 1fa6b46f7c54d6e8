import { getEventListeners } from 'node:events'
import { follow, ManualClock, replyLost, requestLost, ScriptedStore, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { detach } from '../hand-over/index.ts'
import { createLocker, type Lease, type Locker } from '../index.ts'
import { releaseAll } from '../many/index.ts'
import { memoryNotifier, memoryStore } from '../memory/index.ts'
import { within } from '../re-entry/index.ts'
import type { HoldLease } from './hold-lease.ts'
import { type ReadLease, type ReadWriteLock, readWriteLock, type WriteLease } from './index.ts'

const setUp = () => {
  const clock = new ManualClock()
  // The real store's timers only free memory.
  const timeless = {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
    schedule: () => () => undefined,
  }
  const behind = memoryStore({ clock: timeless })
  const store = new ScriptedStore(clock, behind)
  const made = testLocker({ clock, store, name: 'here', notifier: memoryNotifier(behind) })
  // Another process, which is told of its turns, too.
  const elsewhere = createLocker({ clock, store, name: 'there', notifier: memoryNotifier(behind) })
  return { ...made, elsewhere, doc: readWriteLock(made.locks, 'doc'), other: readWriteLock(elsewhere, 'doc') }
}
let { locks, elsewhere, clock, store, events, doc, other } = setUp()
beforeEach(() => {
  ;({ locks, elsewhere, clock, store, events, doc, other } = setUp())
})

/** The result of a call that does not have to wait. */
async function now<T>(promise: Promise<T>): Promise<T> {
  const call = follow(promise, clock)
  await clock.advance(0)
  expect(call.state).not.toBe('pending')
  return promise
}

/** A call that has to wait. */
async function waiting<L extends Lease>(promise: Promise<L>) {
  const call = follow(promise, clock)
  await clock.advance(50)
  expect(call.state).toBe('pending')
  return call
}

/** Whether somebody else could read and write at this moment. */
async function openTo(by: ReadWriteLock): Promise<{ read: boolean; write: boolean }> {
  const read = await by.tryRead()
  await read?.release()
  const write = await by.tryWrite()
  await write?.release()
  return { read: !!read, write: !!write }
}

const both = { read: true, write: true }
const readOnly = { read: true, write: false }
const neither = { read: false, write: false }

describe('a read/write lock', () => {
  it('is shared by readers, and by a writer with nobody', async () => {
    const [first, second] = [await now(doc.read()), await now(other.read())]
    expect(await openTo(other)).toEqual(readOnly)
    await Promise.all([first.release(), second.release()])
    const write = await now(doc.write())
    expect(await openTo(other)).toEqual(neither)
    await write.release()
    expect(await openTo(other)).toEqual(both)
  })

  it('mints a higher fence for each grant, a reader’s too', async () => {
    const fences: number[] = []
    for (const call of [() => doc.read(), () => other.write(), () => doc.read(), () => doc.write()]) {
      const lease = await now<Lease>(call())
      fences.push(lease.fence)
      await lease.release()
    }
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b))
  })

  it('is served in order of arrival: a writer that waits stops later readers, and neighbouring readers enter together', async () => {
    const reader = await now(doc.read())
    const writer = await waiting(other.write())
    const later = [await waiting(doc.read()), await waiting(other.read())]
    expect(await doc.tryRead()).toBeNull()
    expect(await doc.inspect()).toMatchObject({
      writer: null,
      readers: [{ holder: 'here', fence: reader.fence }],
      waiting: 3,
      waiters: [{ mode: 'write' }, { mode: 'read' }, { mode: 'read' }],
    })
    await reader.release()
    await clock.advance(50)
    expect([writer.state, ...later.map(({ state }) => state)]).toEqual(['fulfilled', 'pending', 'pending'])
    expect(await doc.inspect()).toMatchObject({ writer: { fence: writer.value?.fence }, readers: [] })
    await writer.value?.release()
    await clock.advance(50)
    expect(later.map(({ state }) => state)).toEqual(['fulfilled', 'fulfilled'])
  })

  it('lets a writer in when the last of several readers has expired, each by its own ttl', async () => {
    await now(doc.read({ ttl: '1s', renew: false }))
    await now(doc.read({ ttl: '3s', renew: false }))
    const writer = await waiting(other.write())
    await clock.advance(2_000)
    expect(writer.state).toBe('pending')
    await clock.advance(1_500)
    expect(writer.state).toBe('fulfilled')
  })

  it('renews readers and writers, and tells each of a loss', async () => {
    const read = await now(doc.read())
    await clock.advance(60_000)
    read.assertValid()
    store.always('queue.renew', requestLost)
    await clock.advance(11_000)
    expect(read.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'unreachable' })
    expect(() => read.assertValid()).toThrow('unreachable')
  })

  it('is given back after work', async () => {
    expect(await doc.withRead(({ mode }) => mode)).toBe('read')
    expect(await doc.withWrite({ ttl: '5s' }, ({ mode }) => mode)).toBe('write')
    await expect(doc.withWrite(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
    await expect(doc.withRead({} as never)).rejects.toMatchObject({ option: 'work' })
    expect(await openTo(other)).toEqual(both)
  })
})

describe('a read within a write', () => {
  let write: WriteLease
  let read: ReadLease
  beforeEach(async () => {
    write = await now(doc.write())
    read = await now(doc.read({ within: write, wait: '1s' }))
  })

  it('is had at once, under the same grant, whoever waits', async () => {
    const writer = await waiting(other.write())
    const sent = store.calls.length
    const further = await now(doc.tryRead({ within: read }))
    expect(further).toMatchObject({ mode: 'read', fence: write.fence, token: write.token, waitedMs: 0, commands: 0 })
    expect(store.calls.length).toBe(sent)
    expect(writer.state).toBe('pending')
  })

  it('leaves the write as it was when it is released first', async () => {
    expect(await read.release()).toBe('released')
    expect(await openTo(other)).toEqual(neither)
    write.assertValid()
    expect(() => read.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_RELEASED' }))
    expect(await write.release()).toBe('released')
    expect(await openTo(other)).toEqual(both)
  })

  it('is what is left when the write is released first: others may read, and not write', async () => {
    expect(await write.release()).toBe('released')
    expect(await write.release()).toBe('released')
    expect(await openTo(other)).toEqual(readOnly)
    expect(await doc.inspect()).toMatchObject({ writer: null, readers: [{ fence: read.fence }] })
    await clock.advance(30_000)
    read.assertValid()
    expect(await openTo(other)).toEqual(readOnly)
    expect(await read.release()).toBe('released')
    expect(await openTo(other)).toEqual(both)
    expect(events.map(({ type }) => type)).toEqual(['acquired', 'released'])
  })

  it('lets readers in that wait when the write is released, and no writer', async () => {
    const reader = await waiting(other.read())
    const writer = await waiting(other.write())
    await write.release()
    await clock.advance(50)
    expect([reader.state, writer.state]).toEqual(['fulfilled', 'pending'])
    await Promise.all([reader.value?.release(), read.release()])
    await clock.advance(50)
    expect(writer.state).toBe('fulfilled')
  })

  it('outlives the work of `withWrite`, if it was handed out', async () => {
    await Promise.all([write.release(), read.release()])
    const kept = await doc.withWrite((its) => doc.read({ within: its }))
    expect(await openTo(other)).toEqual(readOnly)
    await kept.release()
  })

  it('keeps others from reading no longer than the store is silent when the write is released', async () => {
    store.always('queue.release', requestLost)
    const releasing = follow(write.release(), clock)
    await clock.advance(3_000)
    expect(releasing).toMatchObject({ state: 'fulfilled', value: 'unknown' })
    read.assertValid()
    store.always('queue.release', replyLost)
    await clock.advance(10_000)
    store.always('queue.release', ({ execute }) => execute())
    await clock.advance(10_000)
    expect(await openTo(other)).toEqual(readOnly)
    await read.release()
    expect(clock.pending).toBe(0)
  })

  it('is lost with the write, and a lease that was released before is not', async () => {
    const gone = await now(doc.read({ within: write }))
    const signals = [write, read, gone].map(({ signal }) => signal)
    await gone.release()
    store.always('queue.renew', requestLost)
    await clock.advance(11_000)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false])
    expect(events.filter(({ type }) => type === 'lost')).toHaveLength(1)
    for (const lease of [read, write]) expect(lease.remaining()).toBe(0)
    await expect(doc.read({ within: read })).rejects.toMatchObject({ code: 'LEASE_LOST' })
  })

  it('says how the grant ended, whichever is released first', async () => {
    const brief = await now(readWriteLock(locks, 'brief').write({ ttl: '1s', renew: false }))
    const nested = await now(readWriteLock(locks, 'brief').read({ within: brief }))
    await clock.advance(1_100)
    expect(await nested.release()).toBe('expired')
    expect(await brief.release()).toBe('expired')
  })

  it('is lost if the store no longer has the grant when the write is released', async () => {
    store.next('queue.release', async () => [{ type: 'gone', resent: false } as never])
    expect(await write.release()).toBe('expired')
    expect(read.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
  })

  it('is taken away with the write when the locker is closed', async () => {
    const closing = follow(locks.close({ grace: 0 }), clock)
    await clock.advance(50)
    expect(closing.state).toBe('fulfilled')
    for (const { signal } of [write, read]) expect(signal.reason).toMatchObject({ reason: 'closed' })
    expect(await openTo(other)).toEqual(both)
    expect(await read.release()).toBe('released')
  })

  it('makes `withWrite` reject with the loss, and with what the work returned', async () => {
    await Promise.all([write.release(), read.release()])
    const working = follow(
      doc.withWrite({ ttl: '1s', renew: false }, async () => {
        // The process stood still, and no timer has run.
        clock.block(1_200)
        return 'done'
      }),
      clock,
    )
    await clock.advance(0)
    expect(working.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'expired', result: 'done' })
  })
})

describe('what is nested', () => {
  it('may be a write in a write; the lock is free after the last', async () => {
    const outer = await now(doc.write())
    const inner = await now(doc.write({ within: outer }))
    await outer.release()
    expect(await openTo(other)).toEqual(neither)
    await inner.release()
    expect(await openTo(other)).toEqual(both)
  })

  it('may be a read in a read, though a writer waits', async () => {
    const outer = await now(doc.read())
    const writer = await waiting(other.write())
    const inner = await now(doc.read({ within: outer }))
    await outer.release()
    await clock.advance(5_000)
    expect(writer.state).toBe('pending')
    await inner.release()
    await clock.advance(50)
    expect(writer.state).toBe('fulfilled')
  })

  it('is never a write in a read, nor in what is left of a write', async () => {
    const refused = { code: 'INVALID_OPTION', option: 'within', message: expect.stringMatching(/never upgraded/) }
    const read = await now(doc.read())
    await expect(doc.write({ within: read as never })).rejects.toMatchObject(refused)
    await expect(doc.tryWrite({ within: read as never })).rejects.toMatchObject(refused)
    await read.release()
    const write = await now(doc.write())
    const kept = await now(doc.read({ within: write }))
    await write.release()
    await expect(doc.write({ within: kept as never })).rejects.toMatchObject(refused)
  })

  it('needs a live lease of this very lock', async () => {
    const read = await now(doc.read())
    const refused = { code: 'INVALID_OPTION', option: 'within' }
    await expect(other.read({ within: read })).rejects.toMatchObject(refused)
    await expect(readWriteLock(locks, 'doc:2').read({ within: read })).rejects.toMatchObject(refused)
    await expect(doc.read({ within: (await locks.acquire('k')) as never })).rejects.toMatchObject(refused)
    await expect(doc.read({ within: null as never })).rejects.toMatchObject(refused)
    await expect(doc.read({ within: read, ttl: -1 })).rejects.toMatchObject({ option: 'ttl' })
    await read.release()
    await expect(doc.read({ within: read })).rejects.toMatchObject({ code: 'LEASE_RELEASED' })
  })

  it('is given back with others in one call, in any order, and is not entered as a lock for one holder', async () => {
    const write = await now(doc.write())
    const read = await now(doc.read({ within: write }))
    const plain = await now(locks.acquire('plain'))
    expect(() => within(locks, read)).toThrow(/"lease"/)
    expect(await releaseAll([write, plain, read])).toEqual(['released', 'released', 'released'])
    expect(await openTo(other)).toEqual(both)
  })

  it('leaves no listener behind on a lease that goes on', async () => {
    const write = await now(doc.write())
    const { signal } = (write as HoldLease).hold().held
    for (let round = 0; round < 3; round++) {
      const read = await now(doc.read({ within: write }))
      expect(read.signal.aborted).toBe(false)
      expect(getEventListeners(signal, 'abort')).toHaveLength(1)
      await read.release()
    }
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    await write.release()
    expect(clock.pending).toBe(0)
  })
})

describe('a key that is another kind of lock', () => {
  it('is refused by name, both ways, and a lease of it is not detached', async () => {
    const mismatch = { code: 'KIND_MISMATCH', key: 'doc' }
    const plain = await locks.acquire('doc')
    await expect(doc.read()).rejects.toMatchObject(mismatch)
    await expect(doc.tryWrite()).rejects.toMatchObject(mismatch)
    await expect(doc.inspect()).rejects.toMatchObject(mismatch)
    await plain.release()
    const read = await now(doc.read())
    await expect(elsewhere.acquire('doc')).rejects.toMatchObject(mismatch)
    await expect(detach(read, { ttl: '1m' })).rejects.toMatchObject({ option: 'lease' })
    expect(() => readWriteLock({} as Locker, 'doc')).toThrow(/"locks"/)
    expect(() => readWriteLock(locks, '')).toThrow(/"key"/)
  })
})
