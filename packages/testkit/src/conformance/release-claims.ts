import { expect, it } from 'vitest'
import { asked, longMs, type Probe, shortMs, slackMs, withOtherFence } from './probe.ts'

export function releaseClaims(probe: Probe): void {
  it('a released lock is free at once', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    expect(await probe.release({ key, token })).toBe('released')
    expect(await probe.admin.expiresInMs(key)).toBeUndefined()
    await probe.grant({ key })
  })

  // https://github.com/twentyhq/twenty/issues/25661: the late release of one holder freed the lock of the next.
  it('an expired holder cannot release the lease of its successor', async () => {
    const key = probe.key()
    const late = await probe.grant({ key, ttlMs: shortMs })
    await probe.advance(shortMs)
    const successor = await probe.grant({ key, ttlMs: longMs })
    expect(await probe.release({ key, token: late.token })).toBe('superseded')
    await probe.contention({ key })
    expect(await probe.leftMs(key)).toBeGreaterThan(longMs - slackMs)
    expect(await probe.release({ key, token: successor.token })).toBe('released')
    await probe.grant({ key })
  })

  it('a release after expiry answers that the entry is gone', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key, ttlMs: shortMs })
    await probe.advance(shortMs)
    expect(await probe.release({ key, token })).toBe('gone')
  })

  it('a release compares the whole token: acquisition id and fence', async () => {
    const key = probe.key()
    const { token } = await probe.grant({
      key,
      acquisitionId: probe.acquisitionId('orders-7'),
    })
    for (const other of [withOtherFence(token), token.slice('orders-7.'.length), `x${token}`]) {
      expect(await probe.release({ key, token: other })).toBe('superseded')
    }
    expect(await probe.release({ key, token })).toBe('released')
  })

  it('an acquire is undone by its acquisition id alone', async () => {
    const request = asked(probe, {
      key: probe.key(),
      acquisitionId: probe.acquisitionId('orders-7'),
    })
    await probe.grant(request)
    expect(await probe.release({ key: request.key, acquisitionId: request.acquisitionId })).toBe('released')
    await probe.grant({ key: request.key })
  })

  it('undoing an acquire that was never carried out finds nothing and harms nothing', async () => {
    const request = asked(probe, { key: probe.key() })
    expect(await probe.release({ key: request.key, acquisitionId: request.acquisitionId })).toBe('gone')
    expect(await probe.entriesOf(request.key)).toEqual([])
    await probe.grant(request)
  })

  it('an acquire that arrives after it was undone is spent, and holds nothing', async () => {
    const request = asked(probe, { key: probe.key() })
    await probe.grant(request)
    await probe.release({ key: request.key, acquisitionId: request.acquisitionId })
    expect(await probe.acquire(request)).toEqual({ type: 'spent' })
    await probe.grant({ key: request.key })
  })

  it('undoing a contended acquire does not release the holder', async () => {
    const request = asked(probe, { key: probe.key() })
    const holder = await probe.grant({ key: request.key })
    await probe.contention(request)
    expect(await probe.release({ key: request.key, acquisitionId: request.acquisitionId })).toBe('superseded')
    expect(await probe.release({ key: request.key, token: holder.token })).toBe('released')
  })

  it('an acquisition id is compared up to the last dot of the token: all of it, and no more', async () => {
    const key = probe.key()
    const acquisitionId = probe.acquisitionId('orders-7')
    const { token } = await probe.grant({ key, acquisitionId })
    for (const other of [
      'orders-7',
      acquisitionId.slice('orders-7.'.length),
      acquisitionId.slice(0, -1),
      `${acquisitionId}.1`,
      `x${acquisitionId}`,
    ]) {
      expect(await probe.release({ key, acquisitionId: other })).toBe('superseded')
    }
    expect(await probe.release({ key, token })).toBe('released')
  })
}
