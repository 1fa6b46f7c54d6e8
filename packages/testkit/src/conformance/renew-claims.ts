import { expect, it } from 'vitest'
import { ampleMs, longMs, type Probe, shortMs, slackMs, withOtherFence } from './probe.ts'

export function renewClaims(probe: Probe): void {
  it('a renewal extends the expiry to the asked ttl', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key, ttlMs: longMs })
    expect(await probe.renew(key, token, 2 * longMs)).toBe('renewed')
    const left = await probe.leftMs(key)
    expect(left).toBeLessThanOrEqual(2 * longMs)
    expect(left).toBeGreaterThan(2 * longMs - slackMs)
  })

  it('a renewed lock is still held when its first ttl is over', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key, ttlMs: ampleMs })
    await probe.renew(key, token, longMs)
    await probe.advance(ampleMs)
    await probe.contention({ key })
    expect(await probe.renew(key, token, longMs)).toBe('renewed')
  })

  it('a late, shorter renewal does not shorten the expiry', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key, ttlMs: longMs })
    expect(await probe.renew(key, token, shortMs)).toBe('renewed')
    expect(await probe.leftMs(key)).toBeGreaterThan(longMs - slackMs)
  })

  it('a renewal keeps token and fence', async () => {
    const key = probe.key()
    const { token, fence } = await probe.grant({ key })
    await probe.renew(key, token, 2 * longMs)
    expect(await probe.inspect(key)).toMatchObject({ held: true, fence })
    expect(await probe.release({ key, token })).toBe('released')
  })

  it('a renewal does not re-create a lock that has expired', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key, ttlMs: shortMs })
    await probe.advance(shortMs)
    expect(await probe.renew(key, token, longMs)).toBe('gone')
    expect(await probe.admin.expiresInMs(key)).toBeUndefined()
  })

  it('a renewal does not re-create a lock that was released', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await probe.release({ key, token })
    expect(await probe.renew(key, token, longMs)).toBe('gone')
    expect(await probe.admin.expiresInMs(key)).toBeUndefined()
  })

  it('a renewal does not re-create a lock that was deleted', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await probe.admin.remove(key)
    expect(await probe.renew(key, token, longMs)).toBe('gone')
    expect(await probe.admin.expiresInMs(key)).toBeUndefined()
  })

  it('an expired holder cannot extend the lease of its successor', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key, ttlMs: shortMs })
    await probe.advance(shortMs)
    await probe.grant({ key, ttlMs: longMs })
    expect(await probe.renew(key, token, 10 * longMs)).toBe('superseded')
    expect(await probe.leftMs(key)).toBeLessThanOrEqual(longMs)
  })

  it('a renewal compares the whole token: acquisition id and fence', async () => {
    const key = probe.key()
    const acquisitionId = probe.acquisitionId('orders-7')
    const { token } = await probe.grant({ key, acquisitionId, ttlMs: longMs })
    for (const other of [withOtherFence(token), acquisitionId, token.slice('orders-7.'.length), `x${token}`]) {
      expect(await probe.renew(key, other, 10 * longMs)).toBe('superseded')
    }
    expect(await probe.leftMs(key)).toBeLessThanOrEqual(longMs)
  })
}
