import { expect, it } from 'vitest'
import { callUntil } from '../call-until.ts'
import { longMs, type Probe, shortMs, slackMs } from './probe.ts'

export function checkClaims(probe: Probe): void {
  it('a check finds a free lock changed', async () => {
    expect((await probe.check(probe.key(), '-')).changed).toBe(true)
  })

  it('a check with the cursor of a refusal is unchanged while the same holder has the lock', async () => {
    const key = probe.key()
    await probe.grant({ key, ttlMs: longMs })
    const { cursor } = await probe.contention({ key })
    const checked = await probe.check(key, cursor)
    expect(checked).toMatchObject({ changed: false, cursor })
    expect(checked.expiresInMs).toBeLessThanOrEqual(longMs)
    expect(checked.expiresInMs).toBeGreaterThan(longMs - slackMs)
  })

  it('a check after the release is changed', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    const { cursor } = await probe.contention({ key })
    await probe.release({ key, token })
    expect((await probe.check(key, cursor)).changed).toBe(true)
  })

  it('a check after the expiry is changed', async () => {
    const key = probe.key()
    await probe.grant({ key, ttlMs: shortMs })
    const { cursor } = await probe.contention({ key })
    await probe.advance(shortMs)
    expect((await probe.check(key, cursor)).changed).toBe(true)
  })

  it('a lock that passed to another holder is unchanged, with the new cursor', async () => {
    const key = probe.key()
    const first = await probe.grant({ key })
    const { cursor } = await probe.contention({ key })
    await probe.release({ key, token: first.token })
    await probe.grant({ key })
    const checked = await probe.check(key, cursor)
    expect(checked.changed).toBe(false)
    expect(checked.cursor).not.toBe(cursor)
    expect(checked.cursor).toBe((await probe.contention({ key })).cursor)
  })

  it('the cursor of a refusal is the fence of the holder, the first of those reserved', async (context) => {
    probe.needs(context, 'fences')
    const key = probe.key()
    const { fence } = await probe.grant({ key, fences: 17 })
    expect((await probe.contention({ key })).cursor).toBe(String(fence))
  })

  it('a check sees many locks at once, each by itself', async () => {
    const [held, free, other] = [probe.key(), probe.key(), probe.key()]
    await probe.grant({ key: held, ttlMs: longMs })
    await probe.grant({ key: other })
    const cursors = [
      (await probe.contention({ key: held })).cursor,
      '-',
      (await probe.contention({ key: other })).cursor,
    ]
    const checked = await probe.store.checkHolders(
      [held, free, other].map((key) => ({ key, cursor: '-' })),
      callUntil(probe.signal),
    )
    expect(checked).toMatchObject([
      { changed: false, cursor: cursors[0], expiresInMs: expect.any(Number) },
      { changed: true, cursor: '-', expiresInMs: null },
      { changed: false, cursor: cursors[2] },
    ])
    expect(await probe.store.checkHolders([], callUntil(probe.signal))).toEqual([])
  })

  it('a check changes nothing', async () => {
    const key = probe.key()
    await probe.check(key, '-')
    expect(await probe.entriesOf(key)).toEqual([])
    const { token } = await probe.grant({ key, ttlMs: longMs })
    await probe.check(key, '-')
    expect(await probe.leftMs(key)).toBeLessThanOrEqual(longMs)
    expect(await probe.release({ key, token })).toBe('released')
  })

  it('an inspection shows a free lock as not held', async () => {
    expect(await probe.inspect(probe.key())).toEqual({ held: false })
  })

  it('an inspection shows name, fence, since when and until when', async (context) => {
    probe.needs(context, 'fences')
    const key = probe.key()
    const { fence } = await probe.grant({
      key,
      acquisitionId: probe.acquisitionId('orders-7'),
      ttlMs: longMs,
      fences: 17,
    })
    const state = await probe.inspect(key)
    expect(state).toEqual({
      held: true,
      holder: 'orders-7',
      fence,
      since: new Date(Number(fence) / 1_000),
      expiresInMs: expect.any(Number),
    })
    const { expiresInMs } = state as { expiresInMs: number }
    expect(expiresInMs).toBeLessThanOrEqual(longMs)
    expect(expiresInMs).toBeGreaterThan(longMs - slackMs)
  })

  it('an inspection shows no name for a holder without one', async () => {
    const key = probe.key()
    await probe.grant({ key })
    expect(await probe.inspect(key)).toMatchObject({
      held: true,
      holder: null,
    })
  })

  it('neither an inspection nor a refusal nor a check shows the random part of the token', async () => {
    const key = probe.key()
    const acquisitionId = probe.acquisitionId('orders-7')
    await probe.grant({ key, acquisitionId })
    const shown = JSON.stringify([
      await probe.inspect(key),
      await probe.contention({ key }),
      await probe.check(key, '-'),
    ])
    expect(shown).not.toContain(acquisitionId.slice('orders-7.'.length))
  })

  it('a revoke frees the lock, and its holder learns that it is gone', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    expect(await probe.revoke(key)).toBe('revoked')
    expect(await probe.admin.expiresInMs(key)).toBeUndefined()
    expect(await probe.renew(key, token, longMs)).toBe('gone')
    await probe.grant({ key })
  })

  it('a revoke of a free lock says so', async () => {
    const key = probe.key()
    expect(await probe.revoke(key)).toBe('free')
    expect(await probe.entriesOf(key)).toEqual([])
  })
}
