import { type PassOnOutcome, type PassOnRequest, passOnOf } from '@leasehold/core/adapter'
import { expect, it, type TestContext } from 'vitest'
import { callUntil } from '../call-until.ts'
import { asked, longMs, type Probe, slackMs } from './probe.ts'

type Ask = (
  request: Pick<PassOnRequest, 'key' | 'token'> & Partial<PassOnRequest>,
  signal?: AbortSignal,
) => Promise<PassOnOutcome>

/** Claims about a store that can pass a lock on to the next waiter of the same process. */
export function passOnClaims(probe: Probe): void {
  function use(context: TestContext): Ask {
    const passOn = passOnOf(probe.store)
    if (!passOn) context.skip('pass-on: the store does not offer it')
    return (request, signal = probe.signal) =>
      (passOn as NonNullable<typeof passOn>)({ ...asked(probe, request), ...request }, callUntil(signal))
  }

  it('a release that nobody is told of grants the lock to the next, with fences of its own', async (context) => {
    const passOn = use(context)
    const key = probe.key()
    const former = await probe.grant({ key, fences: 17 })
    const acquisitionId = probe.acquisitionId('next')
    const { released, granted } = await passOn({ key, token: former.token, acquisitionId, fences: 17 })
    expect(released).toEqual({ type: 'released', announced: true, subscribers: 0 })
    expect(granted?.token).toBe(`${acquisitionId}.${granted?.fence}`)
    expect(granted?.fence).toBeGreaterThan(former.fence + 16)
    expect(await probe.inspect(key)).toMatchObject({ held: true, holder: 'next', fence: granted?.fence })
    expect(await probe.renew(key, former.token, longMs)).toBe('superseded')
    // The fence record includes the fences of the new grant.
    expect(await probe.release({ key, token: granted?.token ?? '' })).toBe('released')
    expect((await probe.grant({ key })).fence).toBeGreaterThan((granted?.fence ?? Infinity) + 16)
  })

  it('the next lease has its own ttl, and its record stays', async (context) => {
    const passOn = use(context)
    const key = probe.key()
    const { token } = await probe.grant({ key, ttlMs: longMs })
    await passOn({ key, token, ttlMs: 2 * longMs })
    expect(await probe.leftMs(key)).toBeLessThanOrEqual(2 * longMs)
    expect(await probe.leftMs(key)).toBeGreaterThan(2 * longMs - slackMs)
    for (const { expiresInMs } of await probe.entriesOf(key)) expect(expiresInMs).toBeGreaterThan(longMs)
  })

  it('a release that somebody is told of leaves the lock free', async (context) => {
    const passOn = use(context)
    probe.needs(context, 'announcements')
    const key = probe.key()
    const heard = await probe.listen(key)
    const { token } = await probe.grant({ key })
    const acquisitionId = probe.acquisitionId()
    expect(await passOn({ key, token, acquisitionId })).toEqual({
      released: { type: 'released', announced: true, subscribers: 1 },
      granted: undefined,
    })
    await heard.close()
    expect((await probe.inspect(key)).held).toBe(false)
    // Nothing was granted, so the acquisition id is not spent; and the release is still known as carried out.
    await probe.grant({ key, acquisitionId })
    expect(await probe.release({ key, token })).toBe('released')
  })

  it('a repeat is answered the same grant', async (context) => {
    const passOn = use(context)
    const key = probe.key()
    const { token } = await probe.grant({ key })
    const request = { key, token, acquisitionId: probe.acquisitionId() }
    const { granted } = await passOn(request)
    expect(await passOn(request)).toEqual({
      released: { type: 'released', announced: true, subscribers: null },
      granted,
    })
  })

  it('a repeat as two requests finds the release carried out, and the same grant', async (context) => {
    const passOn = use(context)
    const key = probe.key()
    const { token } = await probe.grant({ key })
    const acquisitionId = probe.acquisitionId()
    const { granted } = await passOn({ key, token, acquisitionId })
    expect(await probe.release({ key, token })).toBe('released')
    expect(await probe.grant({ key, acquisitionId })).toEqual(granted)
    expect(await probe.release({ key, acquisitionId })).toBe('released')
    expect((await probe.inspect(key)).held).toBe(false)
  })

  it('a late repeat grants nothing: not while the lock is free, nor while another holds it', async (context) => {
    const passOn = use(context)
    const key = probe.key()
    const { token } = await probe.grant({ key })
    const request = { key, token, acquisitionId: probe.acquisitionId() }
    const { granted } = await passOn(request)
    await probe.release({ key, token: granted?.token ?? '' })
    expect((await passOn(request)).granted).toBeUndefined()
    expect((await probe.inspect(key)).held).toBe(false)
    const other = await probe.grant({ key })
    expect((await passOn(request)).granted).toBeUndefined()
    expect(await probe.inspect(key)).toMatchObject({ held: true, fence: other.fence })
  })

  it('a lease that is no longer there, or was revoked, passes nothing on', async (context) => {
    const passOn = use(context)
    const [gone, passed, revoked] = [probe.key(), probe.key(), probe.key()]
    const first = await probe.grant({ key: gone })
    await probe.admin.remove(gone)
    expect(await passOn({ key: gone, token: first.token })).toMatchObject({
      released: { type: 'gone' },
      granted: undefined,
    })

    const second = await probe.grant({ key: passed })
    await probe.admin.remove(passed)
    const holder = await probe.grant({ key: passed })
    expect(await passOn({ key: passed, token: second.token })).toMatchObject({
      released: { type: 'superseded' },
      granted: undefined,
    })
    expect(await probe.inspect(passed)).toMatchObject({ held: true, fence: holder.fence })

    const third = await probe.grant({ key: revoked })
    await probe.revoke(revoked)
    expect(await passOn({ key: revoked, token: third.token })).toMatchObject({
      released: { type: 'revoked' },
      granted: undefined,
    })
    expect((await probe.inspect(revoked)).held).toBe(false)
  })

  it('a request that was aborted before it began passes nothing on', async (context) => {
    const passOn = use(context)
    const key = probe.key()
    const { token, fence } = await probe.grant({ key })
    const outcome = await passOn({ key, token }, AbortSignal.abort())
    expect(outcome).toMatchObject({ released: { type: 'unknown', executed: 'no' }, granted: undefined })
    expect(await probe.inspect(key)).toMatchObject({ held: true, fence })
  })
}
