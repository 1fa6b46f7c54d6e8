import { expect, it } from 'vitest'
import { callUntil } from '../call-until.ts'
import { asked, longMs, type Probe, shortMs } from './probe.ts'

/**
 * The answer to a repeated request, which a client or proxy has sent twice: how its lease ended. A store remembers that
 * for the last lease that did not simply expire.
 */
export function endingClaims(probe: Probe): void {
  it('a repeated release is told that it was carried out; how many heard of it nobody knows', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await probe.release({ key, token })
    expect(await probe.store.release([{ key, token }], callUntil(probe.signal))).toEqual([
      { type: 'released', announced: true, subscribers: null },
    ])
    expect(await probe.release({ key, token })).toBe('released')
  })

  it('a repeated release is told the same with another holder in between, and leaves that one alone', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await probe.release({ key, token })
    const successor = await probe.grant({ key })
    expect(await probe.release({ key, token })).toBe('released')
    expect(await probe.renew(key, successor.token, 2 * longMs)).toBe('renewed')
    expect(await probe.release({ key, token })).toBe('released')
    await probe.contention({ key })
    expect(await probe.release({ key, token: successor.token })).toBe('released')
  })

  it('a repeated release is told the same after another holder has expired', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await probe.release({ key, token })
    const expired = await probe.grant({ key, ttlMs: shortMs })
    await probe.advance(shortMs)
    expect(await probe.release({ key, token })).toBe('released')
    expect(await probe.release({ key, token: expired.token })).toBe('gone')
    await probe.grant({ key })
    expect(await probe.release({ key, token })).toBe('released')
    expect(await probe.release({ key, token: expired.token })).toBe('superseded')
  })

  it('a release of a lease that was revoked is told so, however often, and with another holder in between', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await probe.revoke(key)
    for (let i = 0; i < 2; i++) expect(await probe.release({ key, token })).toBe('revoked')
    await probe.grant({ key })
    for (let i = 0; i < 2; i++) expect(await probe.release({ key, token })).toBe('revoked')
    await probe.contention({ key })
  })

  it('a revocation that comes after the release finds a free lock, and changes nothing about how it ended', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await probe.release({ key, token })
    expect(await probe.revoke(key)).toBe('free')
    expect(await probe.release({ key, token })).toBe('released')
  })

  it('a second revocation finds a free lock, and changes nothing about how it ended', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await probe.revoke(key)
    expect(await probe.revoke(key)).toBe('free')
    expect(await probe.release({ key, token })).toBe('revoked')
  })

  it('what became of a later lease is not told of an earlier one', async () => {
    const key = probe.key()
    const first = await probe.grant({ key })
    await probe.release({ key, token: first.token })
    const second = await probe.grant({ key })
    await probe.revoke(key)
    expect(await probe.release({ key, token: second.token })).toBe('revoked')
    expect(['released', 'gone']).toContain(await probe.release({ key, token: first.token }))
    const third = await probe.grant({ key })
    await probe.release({ key, token: third.token })
    expect(await probe.release({ key, token: third.token })).toBe('released')
    expect(['revoked', 'gone']).toContain(await probe.release({ key, token: second.token }))
  })

  it('undoing an acquire twice is told the same twice, with another holder in between', async () => {
    for (const name of [undefined, 'orders-7']) {
      const [key, acquisitionId] = [probe.key(), probe.acquisitionId(name)]
      await probe.grant({ key, acquisitionId })
      expect(await probe.release({ key, acquisitionId })).toBe('released')
      expect(await probe.release({ key, acquisitionId })).toBe('released')
      const successor = await probe.grant({ key })
      expect(await probe.release({ key, acquisitionId })).toBe('released')
      expect(await probe.release({ key, token: successor.token })).toBe('released')
    }
  })

  it('how a lease ended is told to its token and to its acquisition id, whichever ended it', async () => {
    for (const name of [undefined, 'orders-7']) {
      const acquisitionId = probe.acquisitionId(name)
      const [released, undone, revoked] = [probe.key(), probe.key(), probe.key()]
      const { token } = await probe.grant({ key: released, acquisitionId })
      await probe.release({ key: released, token })
      expect(await probe.release({ key: released, acquisitionId })).toBe('released')

      const held = await probe.grant({ key: undone, acquisitionId })
      await probe.release({ key: undone, acquisitionId })
      expect(await probe.release({ key: undone, token: held.token })).toBe('released')

      await probe.grant({ key: revoked, acquisitionId })
      await probe.revoke(revoked)
      expect(await probe.release({ key: revoked, acquisitionId })).toBe('revoked')
    }
  })

  it('undoing what was never carried out is told nothing of others, and changes nothing about how they ended', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await probe.release({ key, token })
    expect(await probe.release({ key, acquisitionId: probe.acquisitionId() })).toBe('gone')
    const successor = await probe.grant({ key })
    expect(await probe.release({ key, acquisitionId: probe.acquisitionId() })).toBe('superseded')
    expect(await probe.release({ key, token })).toBe('released')
    expect(await probe.renew(key, successor.token, longMs)).toBe('renewed')
  })

  it('a renewal of what has ended is told that it is no longer there', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await probe.release({ key, token })
    expect(await probe.renew(key, token, longMs)).toBe('gone')
    await probe.grant({ key })
    expect(await probe.renew(key, token, longMs)).toBe('superseded')
    expect(await probe.release({ key, token })).toBe('released')
  })

  it('an acquisition id is spent whatever is known of an earlier lease, and a contended one is not', async () => {
    const [key, first] = [probe.key(), probe.acquisitionId()]
    await probe.grant({ key, acquisitionId: first })
    await probe.release({ key, acquisitionId: first })
    const request = asked(probe, { key })
    const { token } = await probe.grant(request)
    expect((await probe.grant(request)).token).toBe(token)
    const contended = asked(probe, { key })
    await probe.contention(contended)
    await probe.revoke(key)
    expect(await probe.acquire(request)).toEqual({ type: 'spent' })
    await probe.grant(contended)
  })

  it('a foreign holder has no part in it', async (context) => {
    probe.needs(context, 'foreign-holders')
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await probe.release({ key, token })
    await probe.admin.replace(key, longMs)
    expect(await probe.release({ key, token })).toBe('released')
    expect(await probe.revoke(key)).toBe('revoked')
    expect(await probe.release({ key, token })).toBe('released')
  })

  it('a lease that was deleted by hand has no ending', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await probe.admin.remove(key)
    expect(await probe.release({ key, token })).toBe('gone')
    await probe.grant({ key })
    expect(await probe.release({ key, token })).toBe('superseded')
  })

  it('repeats of one call are answered one by one, each of its own lease', async () => {
    const [released, revoked, fresh, never] = [probe.key(), probe.key(), probe.key(), probe.key()]
    const first = await probe.grant({ key: released })
    await probe.release({ key: released, token: first.token })
    const second = await probe.grant({ key: revoked })
    await probe.revoke(revoked)
    const third = await probe.grant({ key: fresh })
    const outcomes = await probe.store.release(
      [
        { key: released, token: first.token },
        { key: never, token: first.token },
        { key: revoked, token: second.token },
        { key: revoked, token: first.token },
        { key: fresh, token: third.token },
        { key: fresh, token: third.token },
      ],
      callUntil(probe.signal),
    )
    expect(outcomes.map(({ type }) => type)).toEqual(['released', 'gone', 'revoked', 'gone', 'released', 'released'])
  })
}
