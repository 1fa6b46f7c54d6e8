import { type ReadWriteLock, readWriteLock } from '@leasehold/core/read-write'
import { describe, expect, it } from 'vitest'
import { type Arena, arenas } from '../support/arena.ts'
import { eventually } from '../support/scale.ts'

const lockOf = (arena: Arena, key: string): ReadWriteLock =>
  readWriteLock(arena.client({ notifier: arena.notifier() }), key)

/** What another caller could do at this moment, without waiting. */
async function openTo(other: ReadWriteLock): Promise<{ read: boolean; write: boolean }> {
  const write = await other.tryWrite()
  await write?.release()
  const read = await other.tryRead()
  await read?.release()
  return { read: !!read, write: !!write }
}

const everything = { read: true, write: true }
const nothing = { read: false, write: false }

describe.each(arenas)('T-21: a read that is nested in a write, on %s', (_, open) => {
  it('leaves the write alone when it is released, and others out', async () => {
    await using arena = await open()
    const [a, b] = [lockOf(arena, 'nested'), lockOf(arena, 'nested')]
    const write = await a.write()
    const read = await a.read({ within: write })
    expect(await read.release()).toBe('released')
    expect(await openTo(b)).toEqual(nothing)
    write.assertValid()
    expect(await write.release()).toBe('released')
    expect(await openTo(b)).toEqual(everything)
  })

  it('is what is left when the write is released first: others may read, and write only when it has ended', async () => {
    await using arena = await open()
    const [a, b] = [lockOf(arena, 'downgraded'), lockOf(arena, 'downgraded')]
    const write = await a.write()
    const read = await a.read({ within: write })
    // A writer that is already waiting may not overtake the remaining read.
    const next = b.write({ wait: '30s' })
    await eventually(async () => (await b.inspect()).waiting === 1)
    expect(await write.release()).toBe('released')
    expect(await b.inspect()).toMatchObject({ writer: null, readers: [{ fence: read.fence }], waiting: 1 })
    expect(await read.release()).toBe('released')
    const its = await next
    expect(its.fence).toBeGreaterThan(read.fence)
    expect(await its.release()).toBe('released')
    const again = await a.write()
    const kept = await a.read({ within: again })
    await again.release()
    expect(await openTo(b)).toEqual({ read: true, write: false })
    await kept.release()
    expect(await openTo(b)).toEqual(everything)
  })
})
