import { expect, it } from 'vitest'
import { callUntil } from '../call-until.ts'
import { asked, longMs, type Probe, withOtherFence } from './probe.ts'

export function batchClaims(probe: Probe): void {
  it('no request, no outcome', async () => {
    expect(await probe.store.acquire([], callUntil(probe.signal))).toEqual([])
    expect(await probe.store.renew([], callUntil(probe.signal))).toEqual([])
    expect(await probe.store.release([], callUntil(probe.signal))).toEqual([])
  })

  it('acquires are answered one by one, in order: granted, contended, spent', async () => {
    const [free, held, left] = [probe.key(), probe.key(), probe.key()]
    await probe.grant({ key: held })
    const spent = asked(probe, { key: left })
    const before = await probe.grant(spent)
    await probe.release({ key: left, token: before.token })

    const requests = [asked(probe, { key: held }), spent, asked(probe, { key: free })]
    const outcomes = await probe.store.acquire(requests, callUntil(probe.signal))
    expect(outcomes.map(({ type }) => type)).toEqual(['held', 'spent', 'granted'])
    expect(outcomes[2]).toMatchObject({
      token: expect.stringContaining(requests[2]?.acquisitionId ?? '-'),
    })
  })

  it('two acquisition ids ask for one key in one call: the first is granted, the second contended', async () => {
    const key = probe.key()
    const outcomes = await probe.store.acquire([asked(probe, { key }), asked(probe, { key })], callUntil(probe.signal))
    expect(outcomes.map(({ type }) => type)).toEqual(['granted', 'held'])
  })

  it('one acquisition id that asks twice in one call is granted the same token twice', async () => {
    const request = asked(probe, { key: probe.key() })
    const [first, second] = await probe.store.acquire([request, request], callUntil(probe.signal))
    expect(first).toMatchObject({ type: 'granted' })
    expect(second).toEqual(first)
  })

  it('many keys in one call are all granted, each with its own token', async () => {
    const requests = Array.from({ length: 100 }, () => asked(probe, { key: probe.key() }))
    const outcomes = await probe.store.acquire(requests, callUntil(probe.signal))
    for (const [i, { acquisitionId }] of requests.entries()) {
      expect(outcomes[i]).toMatchObject({
        type: 'granted',
        token: expect.stringContaining(`${acquisitionId}.`),
      })
    }
  })

  it('renewals are answered one by one, in order: renewed, gone, superseded', async () => {
    const [mine, gone, passed] = [probe.key(), probe.key(), probe.key()]
    const { token } = await probe.grant({ key: mine, ttlMs: longMs })
    const other = await probe.grant({ key: passed, ttlMs: longMs })
    const outcomes = await probe.store.renew(
      [
        { key: gone, token, ttlMs: 2 * longMs },
        { key: passed, token: withOtherFence(other.token), ttlMs: 2 * longMs },
        { key: mine, token, ttlMs: 2 * longMs },
      ],
      callUntil(probe.signal),
    )
    expect(outcomes.map(({ type }) => type)).toEqual(['gone', 'superseded', 'renewed'])
    expect(await probe.leftMs(mine)).toBeGreaterThan(longMs)
    expect(await probe.leftMs(passed)).toBeLessThanOrEqual(longMs)
  })

  it('each renewal of a call has its own ttl', async () => {
    const [short, long] = [probe.key(), probe.key()]
    const first = await probe.grant({ key: short, ttlMs: longMs })
    const second = await probe.grant({ key: long, ttlMs: longMs })
    await probe.store.renew(
      [
        { key: long, token: second.token, ttlMs: 4 * longMs },
        { key: short, token: first.token, ttlMs: 2 * longMs },
      ],
      callUntil(probe.signal),
    )
    expect(await probe.leftMs(short)).toBeLessThanOrEqual(2 * longMs)
    expect(await probe.leftMs(long)).toBeGreaterThan(3 * longMs)
  })

  it('releases are answered one by one, in order, by token or by acquisition id', async () => {
    const [first, second, free, kept] = [probe.key(), probe.key(), probe.key(), probe.key()]
    const { token } = await probe.grant({ key: first })
    const acquisitionId = probe.acquisitionId()
    await probe.grant({ key: second, acquisitionId })
    const other = await probe.grant({ key: kept })
    const outcomes = await probe.store.release(
      [
        { key: free, token },
        { key: second, acquisitionId },
        { key: kept, acquisitionId },
        { key: first, token },
      ],
      callUntil(probe.signal),
    )
    expect(outcomes.map(({ type }) => type)).toEqual(['gone', 'released', 'superseded', 'released'])
    expect(await probe.release({ key: kept, token: other.token })).toBe('released')
  })

  it('a release that stands twice in one call is answered twice, as one that is repeated', async () => {
    const [first, second] = [probe.key(), probe.key()]
    const { token } = await probe.grant({ key: first })
    const acquisitionId = probe.acquisitionId()
    await probe.grant({ key: second, acquisitionId })
    const requests = [
      { key: first, token },
      { key: first, token },
      { key: second, acquisitionId },
      { key: second, acquisitionId },
    ]
    const outcomes = await probe.store.release(requests, callUntil(probe.signal))
    expect(outcomes.map(({ type }) => type)).toEqual(['released', 'released', 'released', 'released'])
    const repeated = { type: 'released', announced: true, subscribers: null }
    expect([outcomes[1], outcomes[3]]).toEqual([repeated, repeated])
  })

  it('every request of a call that was aborted before it began is answered, and "not executed" is true', async () => {
    const requests = [asked(probe, { key: probe.key() }), asked(probe, { key: probe.key() })]
    const outcomes = await probe.store.acquire(requests, callUntil(AbortSignal.abort(new Error('given up'))))
    expect(outcomes).toHaveLength(requests.length)
    for (const [i, outcome] of outcomes.entries()) {
      const saidNo = outcome.type === 'unknown' && outcome.executed === 'no'
      const entries = await probe.entriesOf(requests[i]?.key ?? '')
      expect({ saidNo, executed: entries.length > 0 }).not.toEqual({ saidNo: true, executed: true })
    }
  })
}
