import { expect, it } from 'vitest'
import { longMs, type Probe, shortMs, slackMs } from './probe.ts'

/**
 * Claims about another lock library's value on the same key: the two exclude each other, and we do not touch its value.
 */
export function foreignHolderClaims(probe: Probe): void {
  it('a foreign holder is a holder: the lock is contended, with its remaining ttl and the cursor "-"', async (context) => {
    probe.needs(context, 'foreign-holders')
    const key = probe.key()
    await probe.admin.replace(key, longMs)
    const { cursor, expiresInMs } = await probe.contention({ key })
    expect(cursor).toBe('-')
    expect(expiresInMs).toBeLessThanOrEqual(longMs)
    expect(expiresInMs).toBeGreaterThan(longMs - slackMs)
  })

  it('a cursor has 128 characters at most, whatever a foreign value ends with', async (context) => {
    probe.needs(context, 'foreign-holders')
    const key = probe.key()
    await probe.admin.replace(key, longMs, `theirs.${'7'.repeat(128)}`)
    const { cursor } = await probe.contention({ key })
    expect(cursor).toBe('7'.repeat(128))
    expect((await probe.check(key, cursor)).cursor).toBe(cursor)
    await probe.admin.replace(key, longMs, `theirs.${'7'.repeat(129)}`)
    expect((await probe.contention({ key })).cursor).toBe('-')
    expect((await probe.check(key, '-')).cursor).toBe('-')
    expect(await probe.revoke(key)).toBe('revoked')
  })

  it('a foreign holder without expiry is told with none', async (context) => {
    probe.needs(context, 'foreign-holders')
    const key = probe.key()
    await probe.admin.replace(key, null)
    expect(await probe.contention({ key })).toEqual({
      type: 'held',
      expiresInMs: null,
      cursor: '-',
      holder: null,
    })
    expect(await probe.check(key, '-')).toMatchObject({
      changed: false,
      cursor: '-',
      expiresInMs: null,
    })
    await probe.admin.remove(key)
  })

  it('an inspection shows a foreign holder without name, fence or since', async (context) => {
    probe.needs(context, 'foreign-holders')
    const key = probe.key()
    await probe.admin.replace(key, null)
    const foreign = { held: true, holder: null, fence: null, since: null }
    expect(await probe.inspect(key)).toEqual({ ...foreign, expiresInMs: null })
    await probe.admin.replace(key, longMs)
    expect(await probe.inspect(key)).toEqual({
      ...foreign,
      expiresInMs: expect.any(Number),
    })
  })

  it('a lock is free when its foreign holder has expired', async (context) => {
    probe.needs(context, 'foreign-holders')
    const key = probe.key()
    await probe.admin.replace(key, shortMs)
    await probe.advance(shortMs)
    await probe.grant({ key })
  })

  it('a holder whose value was replaced is superseded, and changes nothing', async (context) => {
    probe.needs(context, 'foreign-holders')
    const key = probe.key()
    const acquisitionId = probe.acquisitionId()
    const { token } = await probe.grant({ key, acquisitionId })
    await probe.admin.replace(key, longMs)
    expect(await probe.renew(key, token, 10 * longMs)).toBe('superseded')
    expect(await probe.release({ key, token })).toBe('superseded')
    expect(await probe.release({ key, acquisitionId })).toBe('superseded')
    await probe.contention({ key, acquisitionId })
    const left = await probe.leftMs(key)
    expect(left).toBeLessThanOrEqual(longMs)
    expect(left).toBeGreaterThan(longMs - slackMs)
  })

  it('a revoke takes the lock from a foreign holder too', async (context) => {
    probe.needs(context, 'foreign-holders')
    const key = probe.key()
    await probe.admin.replace(key, null)
    expect(await probe.revoke(key)).toBe('revoked')
    expect(await probe.admin.expiresInMs(key)).toBeUndefined()
    await probe.grant({ key })
  })
}
