import { expect } from 'vitest'
import { ampleMs, longMs, type Probe, shortMs, slackMs } from './probe.ts'
import { type Asked, exclusive, QueueProbe, readWrite, semaphoreOf } from './queue-probe.ts'

/** Claims about locks for several holders at once: semaphores and read/write locks. */
export function permitClaims(probe: Probe): void {
  const queues = new QueueProbe(probe)
  const { claim } = queues
  const pool = semaphoreOf(3)
  const all = readWrite.capacity

  claim('as many permits are granted as there are, each lease with a fence of its own', async () => {
    const [key, { waiter }] = [probe.key(), queues.inbox()]
    const two = await queues.take({ key, kind: pool, permits: 2, acquisitionId: probe.acquisitionId('two') })
    const one = await queues.take({ key, kind: pool, ttlMs: 2 * longMs, waiter: waiter(1) })
    expect(one.fence).toBeGreaterThan(two.fence)
    expect(await queues.ask(queues.request({ key, kind: pool }))).toMatchObject({ type: 'held', holder: 'two' })
    expect(await queues.enter({ key, kind: pool, waiter: waiter(2) })).toMatchObject({ position: 0, holder: 'two' })
    const { kind, holders, waiting } = await queues.state(key)
    expect([kind, waiting]).toEqual([pool, 1])
    expect(holders.map(({ permits }) => permits).sort()).toEqual([1, 2])
  })

  claim('a repeat finds its own permits, and takes no more', async () => {
    const key = probe.key()
    const request = queues.request({ key, kind: pool, permits: 2 })
    const granted = await queues.ask(request)
    expect(await queues.ask({ ...request, ttlMs: 2 * longMs })).toEqual(granted)
    const { holders } = await queues.state(key)
    expect(holders).toHaveLength(1)
    expect(holders[0]?.expiresInMs).toBeGreaterThan(2 * longMs - slackMs)
    await queues.release({ key, exclusive: false, token: (granted as { readonly token: string }).token })
    expect(await queues.ask(request)).toEqual({ type: 'spent' })
  })

  claim('what does not fit is never skipped', async () => {
    const [key, { name, waiter }] = [probe.key(), queues.inbox()]
    const { token } = await queues.take({ key, kind: pool, permits: 2 })
    const big = await queues.enter({ key, kind: pool, permits: 3, waiter: waiter(1) })
    expect(await queues.enter({ key, kind: pool, waiter: waiter(2) })).toMatchObject({ position: 1 })
    expect(await queues.look(key, name, [1, 2])).toMatchObject({ turns: [], missing: [] })
    await queues.release({ key, exclusive: false, token })
    expect(await queues.look(key, name, [1, 2])).toMatchObject({ turns: [1] })
    expect(await queues.ask(big.request)).toMatchObject({ type: 'granted' })
  })

  claim('permits are given back one by one, and a repeat gives back no more', async () => {
    const [key, { name, waiter }] = [probe.key(), queues.inbox()]
    const { token } = await queues.take({ key, kind: pool, permits: 3 })
    const back = (keep: number) => queues.release({ key, exclusive: false, token, keep })
    await queues.enter({ key, kind: pool, waiter: waiter(1) })
    await queues.enter({ key, kind: pool, waiter: waiter(2) })
    expect([await back(2), await back(2)]).toEqual(['released', 'released'])
    expect(await queues.look(key, name, [])).toMatchObject({ turns: [1] })
    // A late repeat takes no permit again.
    expect([await back(1), await back(2)]).toEqual(['released', 'released'])
    expect((await queues.state(key)).holders).toMatchObject([{ permits: 1 }])
    expect([await back(0), await back(0)]).toEqual(['released', 'released'])
    expect((await queues.state(key)).holders).toEqual([])
  })

  claim('an expired lease gives its permits back, and cannot be renewed or released', async () => {
    const key = probe.key()
    const short = await queues.take({ key, kind: pool, permits: 2, ttlMs: shortMs })
    const kept = await queues.take({ key, kind: pool, ttlMs: 60_000 })
    expect(await queues.renew(key, kept.token)).toBe('renewed')
    expect(await queues.renew(key, kept.token, 1)).toBe('renewed')
    await probe.advance(shortMs)
    expect(await queues.renew(key, short.token)).toBe('gone')
    expect(await queues.take({ key, kind: pool, permits: 2 })).toMatchObject({ type: 'granted' })
    expect(await queues.release({ key, exclusive: false, token: short.token })).toBe('gone')
    expect(await queues.release({ key, exclusive: false, token: kept.token })).toBe('released')
    expect((await queues.state(key)).holders).toHaveLength(1)
  })

  const lastMs = ampleMs + 200

  /** A lock of which nothing is free: one lease lives, and `brief` leases of one permit end soon, `last` after the others. */
  async function crowded(brief: number) {
    const lock = { key: probe.key(), kind: semaphoreOf(brief + 1) }
    const last = queues.request({ ...lock, ttlMs: lastMs })
    const others = Array.from({ length: brief - 1 }, () => queues.take({ ...lock, ttlMs: ampleMs }))
    const [{ token }] = await Promise.all([queues.take(last), ...others])
    const live = await queues.take(lock)
    return { ...lock, last, token, live }
  }

  claim('however many leases have ended, all their permits are free for whoever asks next', async () => {
    const { name: inbox, waiter } = queues.inbox()
    const all = async (brief: number): Promise<Asked> => {
      const { key, kind } = await crowded(brief)
      return { key, kind, permits: brief }
    }
    const looked: { readonly key: string; readonly isQueued: boolean }[] = []
    for (const brief of [105, 300]) {
      const lock = await all(brief)
      const { type } = await queues.ask(queues.request({ ...lock, waiter: waiter(1) }))
      looked.push({ key: lock.key, isQueued: type === 'queued' })
    }
    const [tried, waited] = [await all(105), await all(105)]
    await probe.advance(lastMs)
    for (const { key, isQueued } of looked) {
      const { turns } = await queues.look(key, inbox, [1])
      // On a very slow machine they have all ended before it asks: then it has its permits already.
      expect(turns).toEqual(isQueued ? [1] : [])
    }
    await queues.take(tried)
    await queues.take({ ...waited, waiter: waiter(2) })
  })

  claim('however many leases have ended, none is renewed, found again or given back', async () => {
    const [renewed, repeated, released, left] = await Promise.all([
      crowded(105),
      crowded(105),
      crowded(105),
      crowded(105),
    ])
    await probe.advance(lastMs)
    expect(await queues.renew(renewed.key, renewed.token)).toBe('gone')
    expect((await queues.take(repeated.last)).fence).toBeGreaterThan(repeated.live.fence)
    expect(await queues.release({ key: released.key, exclusive: false, token: released.token })).toBe('gone')
    const { acquisitionId } = left.last
    expect(await queues.leave({ key: left.key, inbox: queues.inbox().name, number: 1, acquisitionId })).toBe('absent')
    for (const { key } of [renewed, released, left]) expect(await queues.state(key)).toMatchObject({ held: 1 })
  })

  claim('of many holders a thousand are shown, and all are counted', async () => {
    const lock = { key: probe.key(), kind: semaphoreOf(10_000), permits: 3 }
    const brief = Array.from({ length: 20 }, () => queues.take({ ...lock, ttlMs: shortMs }))
    const long = Array.from({ length: 1_010 }, () => queues.take(lock))
    await Promise.all([...brief, ...long])
    await probe.advance(shortMs)
    const [some, more] = [await queues.state(lock.key), Array.from({ length: 10 }, () => queues.take(lock))]
    await Promise.all(more)
    const all = await queues.state(lock.key)
    expect([some.held, some.holders.length, all.held, all.holders.length]).toEqual([3_030, 1_000, 3_060, 1_000])
  })

  claim('who leaves gives its permits back', async () => {
    const [key, { name: inbox, waiter }] = [probe.key(), queues.inbox()]
    const request = queues.request({ key, kind: pool, permits: 3, waiter: waiter(1) })
    await queues.ask(request)
    await queues.enter({ key, kind: pool, waiter: waiter(2) })
    expect(await queues.leave({ key, inbox, number: 1, acquisitionId: request.acquisitionId })).toBe('left')
    expect(await queues.look(key, inbox, [])).toMatchObject({ turns: [2] })
  })

  claim('readers share; a writer waits for them, and stops those who come later', async () => {
    const [key, { name, waiter }] = [probe.key(), queues.inbox()]
    const lock = { key, kind: readWrite }
    const first = await queues.take({ ...lock, waiter: waiter(1) })
    const second = await queues.take({ ...lock, waiter: waiter(2) })
    const writer = await queues.enter({ ...lock, permits: all, waiter: waiter(3) })
    await queues.enter({ ...lock, waiter: waiter(4) })
    await queues.enter({ ...lock, waiter: waiter(5) })
    await queues.enter({ ...lock, permits: all, waiter: waiter(6) })
    await queues.enter({ ...lock, waiter: waiter(7) })
    await queues.release({ key, exclusive: false, token: first.token })
    expect((await queues.look(key, name, [])).turns).toEqual([])
    await queues.release({ key, exclusive: false, token: second.token })
    const written = await queues.take(writer.request)
    await queues.release({ key, exclusive: false, token: written.token })
    expect([...(await queues.look(key, name, [])).turns].sort()).toEqual([4, 5])
  })

  claim('at most 100 have the turn at a time; who takes one lets the next have it', async () => {
    const [key, { name, waiter }] = [probe.key(), queues.inbox()]
    const lock = { key, kind: readWrite }
    const { token } = await queues.take({ ...lock, permits: all })
    const readers = Array.from({ length: 105 }, (_, number) => queues.enter({ ...lock, waiter: waiter(number) }))
    const requests = (await Promise.all(readers)).map(({ request }) => request)
    await queues.release({ key, exclusive: false, token })
    const { turns } = await queues.look(key, name, [])
    expect(turns).toHaveLength(100)
    await Promise.all(requests.filter((it) => turns.includes(it.waiter?.number ?? -1)).map((it) => queues.take(it)))
    expect((await queues.look(key, name, [])).turns).toHaveLength(5)
  })

  claim('plain requests take it for no lock of theirs', async () => {
    const key = probe.key()
    const { token } = await queues.take({ key, kind: pool })
    const mismatch = { type: 'refused', error: { code: 'KIND_MISMATCH' } }
    expect(await probe.acquire({ key })).toMatchObject(mismatch)
    expect(await probe.renew(key, token, longMs)).toBe('superseded')
    expect(await probe.release({ key, token })).toBe('superseded')
    expect(await probe.check(key, '-')).toMatchObject({ changed: false, expiresInMs: null })
    await expect(probe.inspect(key)).rejects.toThrow('refused')
    expect((await queues.state(key)).holders).toHaveLength(1)
    // An operator can revoke it from all holders.
    expect(await probe.revoke(key)).toBe('revoked')
    expect(await queues.renew(key, token)).toBe('gone')
    await probe.grant({ key })
  })

  claim('as long as it is held or waited for, its kind and its capacity stay', async () => {
    const [key, { name: inbox, waiter }] = [probe.key(), queues.inbox()]
    const refused = async (kind: typeof pool): Promise<void> => {
      for (const who of [undefined, waiter(9)]) {
        const outcome = await queues.ask(queues.request({ key, kind, waiter: who }))
        expect(outcome).toMatchObject({ type: 'refused', error: { code: 'KIND_MISMATCH' } })
      }
    }
    const { token } = await queues.take({ key, kind: pool, permits: 3 })
    await queues.enter({ key, kind: pool, waiter: waiter(1) })
    for (const kind of [exclusive, readWrite, semaphoreOf(4)]) await refused(kind)
    await queues.release({ key, exclusive: false, token })
    // Nobody holds it now; it is only waited for.
    for (const kind of [exclusive, readWrite, semaphoreOf(4)]) await refused(kind)
    await queues.leave({ key, inbox, number: 1, acquisitionId: undefined })
    const plain = await probe.grant({ key })
    await refused(pool)
    await probe.release({ key, token: plain.token })
    await queues.take({ key, kind: semaphoreOf(4), permits: 4 })
    expect((await queues.state(key)).waiting).toBe(0)
  })

  claim('more permits than there are are refused', async () => {
    const key = probe.key()
    const request = queues.request({ key, kind: pool, permits: 4, waiter: queues.inbox().waiter(1) })
    expect(await queues.ask(request)).toMatchObject({ type: 'refused', error: { code: 'KIND_MISMATCH' } })
    expect((await queues.state(key)).waiting).toBe(0)
  })

  claim('a larger capacity gives turns; a smaller one takes nothing from a holder', async () => {
    const [key, { name, waiter }] = [probe.key(), queues.inbox()]
    const { token } = await queues.take({ key, kind: pool, permits: 3 })
    const first = await queues.enter({ key, kind: pool, waiter: waiter(1) })
    await queues.enter({ key, kind: pool, permits: 2, waiter: waiter(2) })
    expect(await queues.resize(key, semaphoreOf(4))).toBe('resized')
    expect((await queues.state(key)).waiters).toMatchObject([{ hasTurn: true }, { hasTurn: false }])
    expect(await queues.resize(key, semaphoreOf(1))).toBe('resized')
    // The turn is withdrawn, and a waiter that wants more than the capacity is out of the queue.
    expect(await queues.look(key, name, [1, 2])).toMatchObject({ turns: [], missing: [2] })
    expect(await queues.state(key)).toMatchObject({ kind: semaphoreOf(1), holders: [{ permits: 3 }] })
    await queues.release({ key, exclusive: false, token, keep: 1 })
    expect((await queues.look(key, name, [])).turns).toEqual([])
    await queues.release({ key, exclusive: false, token })
    // The waiter asks with the old capacity.
    expect(await queues.ask(first.request)).toMatchObject({ type: 'granted' })
  })

  claim('there is nothing to resize of a lock that nobody has, nor of another kind', async () => {
    const [idle, held] = [probe.key(), probe.key()]
    expect(await queues.resize(idle, semaphoreOf(9))).toBe('resized')
    expect(await probe.entriesOf(idle)).toEqual([])
    await queues.take({ key: held })
    expect(await queues.resize(held, semaphoreOf(9))).toBe('refused')
  })
}
