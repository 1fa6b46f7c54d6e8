import { expect, it } from 'vitest'
import { asked, longMs, type Probe, shortMs, slackMs } from './probe.ts'

export function acquireClaims(probe: Probe): void {
  it('a free lock is granted, with the token "<acquisition id>.<fence>"', async (context) => {
    probe.needs(context, 'fences')
    const acquisitionId = probe.acquisitionId('orders-7')
    const grant = await probe.grant({ key: probe.key(), acquisitionId })
    expect(grant.token).toBe(`${acquisitionId}.${grant.fence}`)
  })

  it('a grant expires after the asked ttl', async () => {
    const key = probe.key()
    await probe.grant({ key, ttlMs: longMs })
    const left = await probe.leftMs(key)
    expect(left).toBeLessThanOrEqual(longMs)
    expect(left).toBeGreaterThan(longMs - slackMs)
  })

  it('a held lock is contended, with the remaining ttl of its holder', async () => {
    const key = probe.key()
    await probe.grant({ key, ttlMs: longMs })
    const { expiresInMs } = await probe.contention({ key, ttlMs: 10 * longMs })
    expect(expiresInMs).toBeLessThanOrEqual(longMs)
    expect(expiresInMs).toBeGreaterThan(longMs - slackMs)
  })

  it('a contended try learns the name of the holder, and none where that has none', async () => {
    const named = probe.key()
    await probe.grant({ key: named, acquisitionId: probe.acquisitionId('orders-7') })
    expect((await probe.contention({ key: named })).holder).toBe('orders-7')
    const nameless = probe.key()
    await probe.grant({ key: nameless, acquisitionId: probe.acquisitionId() })
    expect((await probe.contention({ key: nameless })).holder).toBeNull()
  })

  it('a contended try does not touch the expiry of the holder', async () => {
    const key = probe.key()
    await probe.grant({ key, ttlMs: longMs })
    await probe.contention({ key, ttlMs: 10 * longMs })
    expect(await probe.leftMs(key)).toBeLessThanOrEqual(longMs)
  })

  it('of many that ask at once one is granted, and it is the one the store shows', async () => {
    const key = probe.key()
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => probe.acquire({ key })))
    const granted = outcomes.flatMap((outcome) => (outcome.type === 'granted' ? [outcome] : []))
    expect(granted).toHaveLength(1)
    expect(outcomes.filter(({ type }) => type === 'held')).toHaveLength(19)
    expect(await probe.release({ key, token: granted[0]?.token ?? '' })).toBe('released')
  })

  it('an expired lock is granted to the next', async () => {
    const key = probe.key()
    await probe.grant({ key, ttlMs: shortMs })
    await probe.advance(shortMs)
    await probe.grant({ key })
  })

  it('a retry finds its own grant: the same token', async () => {
    const request = asked(probe, { key: probe.key() })
    const first = await probe.grant(request)
    expect(await probe.grant(request)).toEqual(first)
  })

  it('the same acquisition id asking many times at once is granted once', async () => {
    const request = asked(probe, { key: probe.key() })
    const grants = await Promise.all(Array.from({ length: 10 }, () => probe.grant(request)))
    expect(new Set(grants.map(({ token }) => token)).size).toBe(1)
  })

  it('a retry is granted the whole ttl from its own sending', async () => {
    const request = asked(probe, { key: probe.key() })
    await probe.grant(request)
    await probe.advance(shortMs)
    await probe.expectWholeLife(
      longMs,
      () => probe.grant(request),
      () => probe.leftMs(request.key),
    )
  })

  it('a retry never shortens what is left', async () => {
    const request = asked(probe, { key: probe.key(), ttlMs: longMs })
    await probe.grant(request)
    await probe.grant({ ...request, ttlMs: shortMs })
    expect(await probe.leftMs(request.key)).toBeGreaterThan(longMs - slackMs)
  })

  it('an acquisition id is told apart by its name, and by the whole of its random part', async () => {
    const key = probe.key()
    const acquisitionId = probe.acquisitionId('orders-7')
    await probe.grant({ key, acquisitionId })
    for (const other of [
      acquisitionId.slice(0, -1),
      acquisitionId.slice(1),
      acquisitionId.slice('orders-7.'.length),
      'orders-7',
    ]) {
      await probe.contention({ key, acquisitionId: other })
    }
  })

  it('an acquisition id is spent once its grant was released', async () => {
    const request = asked(probe, { key: probe.key() })
    const { token } = await probe.grant(request)
    await probe.release({ key: request.key, token })
    expect(await probe.acquire(request)).toEqual({ type: 'spent' })
  })

  it('an acquisition id is spent once its grant has expired', async () => {
    const request = asked(probe, { key: probe.key(), ttlMs: shortMs })
    await probe.grant(request)
    await probe.advance(shortMs)
    expect(await probe.acquire(request)).toEqual({ type: 'spent' })
  })

  it('an acquisition id is spent once its lock was deleted', async () => {
    const request = asked(probe, { key: probe.key() })
    await probe.grant(request)
    await probe.admin.remove(request.key)
    expect(await probe.acquire(request)).toEqual({ type: 'spent' })
  })

  it('an acquisition id is spent once its lock was revoked', async () => {
    const request = asked(probe, { key: probe.key() })
    await probe.grant(request)
    await probe.revoke(request.key)
    expect(await probe.acquire(request)).toEqual({ type: 'spent' })
  })

  it('a spent acquisition id grants nothing: the lock stays free for others', async () => {
    const request = asked(probe, { key: probe.key() })
    const { token } = await probe.grant(request)
    await probe.release({ key: request.key, token })
    await probe.acquire(request)
    expect(await probe.admin.expiresInMs(request.key)).toBeUndefined()
    await probe.grant({ key: request.key })
  })

  it('an acquisition id is spent on its own key only', async () => {
    const request = asked(probe, { key: probe.key() })
    const { token } = await probe.grant(request)
    await probe.release({ key: request.key, token })
    await probe.grant({ ...request, key: probe.key() })
  })

  it('an acquisition id whose grant was overtaken by another is an ordinary one: contended, then granted', async () => {
    const request = asked(probe, { key: probe.key() })
    const first = await probe.grant(request)
    await probe.release({ key: request.key, token: first.token })
    const successor = await probe.grant({ key: request.key })
    await probe.contention(request)
    await probe.release({ key: request.key, token: successor.token })
    expect((await probe.grant(request)).token).not.toBe(first.token)
  })
}
