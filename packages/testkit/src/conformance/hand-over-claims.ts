import { handOverOf, type ResumeOutcome, type ResumeRequest } from '@leasehold/core/hand-over'
import { expect, it, type TestContext } from 'vitest'
import { callUntil } from '../call-until.ts'
import { longMs, type Probe, shortMs, slackMs, withOtherFence } from './probe.ts'

type Granted = Extract<ResumeOutcome, { readonly type: 'granted' }>
/** A resume request. Its fence is the token's, unless the claim says otherwise. */
type Asked = Pick<ResumeRequest, 'key' | 'token'> & Partial<ResumeRequest>

/** Claims about resuming detached leases, for a store that offers it. Detaching takes only a renewal. */
export function handOverClaims(probe: Probe): void {
  const resume = (request: Asked, signal = probe.signal): Promise<ResumeOutcome> => {
    const { token } = request
    const rest = { fence: fenceIn(token), acquisitionId: probe.acquisitionId(), ttlMs: longMs }
    const handOver = handOverOf(probe.store) as NonNullable<ReturnType<typeof handOverOf>>
    return handOver.resume({ ...rest, ...request }, callUntil(signal))
  }
  async function taken(request: Asked): Promise<Granted> {
    const outcome = await resume(request)
    expect(outcome).toMatchObject({ type: 'granted' })
    return outcome as Granted
  }
  const claim = (name: string, test: (context: TestContext) => Promise<void>): void =>
    it(name, async (context) => {
      if (!handOverOf(probe.store)) context.skip('hand-over: the store does not offer it')
      await test(context)
    })

  claim('a resumed lease has a new token and a higher fence, under the name of who resumed it', async () => {
    const key = probe.key()
    const former = await probe.grant({ key, acquisitionId: probe.acquisitionId('former') })
    const acquisitionId = probe.acquisitionId('next')
    const { token, fence } = await taken({ key, token: former.token, acquisitionId })
    expect(token).toBe(`${acquisitionId}.${fence}`)
    expect(fence).toBeGreaterThan(former.fence)
    expect(await probe.inspect(key)).toMatchObject({ held: true, holder: 'next', fence })
    expect(await probe.renew(key, token, longMs)).toBe('renewed')
    expect(await probe.release({ key, token })).toBe('released')
    expect((await probe.grant({ key })).fence).toBeGreaterThan(fence)
  })

  claim('its fence is above every fence reserved for the lease before', async () => {
    const key = probe.key()
    const former = await probe.grant({ key, fences: 1_000_000_000 })
    const { fence } = await taken({ key, token: former.token })
    expect(fence).toBeGreaterThanOrEqual(former.fence + 1_000_000_000)
  })

  claim('and above that of the last holder, whatever the fence record says', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    const fence = fenceIn(token) + 1_000_000_000
    expect((await taken({ key, token, fence })).fence).toBeGreaterThan(fence)
  })

  claim('the old token is worth nothing afterwards, and the lock was at no time free', async () => {
    const key = probe.key()
    const former = await probe.grant({ key })
    const { fence } = await taken({ key, token: former.token })
    expect(await probe.renew(key, former.token, 2 * longMs)).toBe('superseded')
    expect(await probe.release({ key, token: former.token })).toBe('superseded')
    expect(await probe.inspect(key)).toMatchObject({ held: true, fence })
    expect(await probe.leftMs(key)).toBeLessThanOrEqual(longMs)
    await probe.contention({ key })
  })

  claim('nobody is told of a release, because there is none', async (context) => {
    probe.needs(context, 'announcements')
    const key = probe.key()
    const heard = await probe.listen(key)
    const former = await probe.grant({ key })
    const { token, fence } = await taken({ key, token: former.token })
    await probe.release({ key, token })
    await context.expect.poll(() => heard.payloads).toEqual([`released ${fence}`])
    await heard.close()
  })

  claim('its expiry is the asked one, and never earlier than it was', async () => {
    const [longer, shorter] = [probe.key(), probe.key()]
    await taken({ key: longer, token: (await probe.grant({ key: longer })).token, ttlMs: 3 * longMs })
    expect(await probe.leftMs(longer)).toBeGreaterThan(3 * longMs - slackMs)
    await taken({ key: shorter, token: (await probe.grant({ key: shorter })).token, ttlMs: shortMs })
    expect(await probe.leftMs(shorter)).toBeGreaterThan(longMs - slackMs)
    for (const { expiresInMs } of await probe.entriesOf(longer))
      expect(expiresInMs).toBeGreaterThan(3 * longMs - slackMs)
    for (const { expiresInMs } of await probe.entriesOf(shorter)) expect(expiresInMs).toBeGreaterThan(longMs - slackMs)
  })

  claim('a lease whose expiry somebody removed has one again', async (context) => {
    probe.needs(context, 'foreign-holders')
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await probe.admin.replace(key, null, token)
    await taken({ key, token })
    expect(await probe.leftMs(key)).toBeLessThanOrEqual(longMs)
  })

  claim('a repeat finds its own lease, and extends it; never to less', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    const request = { key, token, acquisitionId: probe.acquisitionId('next') }
    const first = await taken(request)
    expect(await resume({ ...request, ttlMs: 3 * longMs })).toEqual(first)
    expect(await probe.leftMs(key)).toBeGreaterThan(3 * longMs - slackMs)
    for (const { expiresInMs } of await probe.entriesOf(key)) expect(expiresInMs).toBeGreaterThan(3 * longMs - slackMs)
    expect(await resume({ ...request, ttlMs: shortMs })).toEqual(first)
    expect(await probe.leftMs(key)).toBeGreaterThan(3 * longMs - slackMs)
  })

  claim('of many who resume one lease at once, one has it', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => resume({ key, token })))
    const types = outcomes.map(({ type }) => type).sort()
    expect(types).toEqual(['granted', ...Array.from({ length: 19 }, () => 'superseded')])
  })

  claim('the second resume of one lease is superseded, while the first has it and when it is over', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    const first = await taken({ key, token })
    expect(await resume({ key, token })).toEqual({ type: 'superseded' })
    await probe.release({ key, token: first.token })
    expect(await resume({ key, token })).toEqual({ type: 'superseded' })
    expect((await probe.inspect(key)).held).toBe(false)
  })

  claim('a lease that has ended cannot be resumed, nor is anybody else’s', async (context) => {
    const [expired, released, revoked, another] = [probe.key(), probe.key(), probe.key(), probe.key()]
    const short = await probe.grant({ key: expired, ttlMs: shortMs })
    await probe.advance(shortMs)
    expect(await resume({ key: expired, token: short.token })).toEqual({ type: 'gone' })

    const given = await probe.grant({ key: released })
    await probe.release({ key: released, token: given.token })
    expect(await resume({ key: released, token: given.token })).toEqual({ type: 'gone' })

    const away = await probe.grant({ key: revoked })
    await probe.revoke(revoked)
    expect(await resume({ key: revoked, token: away.token })).toEqual({ type: 'gone' })
    for (const key of [expired, released, revoked]) expect((await probe.inspect(key)).held).toBe(false)

    const { token, fence } = await probe.grant({ key: another })
    // Each token differs in a single part.
    for (const wrong of [
      withOtherFence(token),
      `x.${token}`,
      token.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
    ]) {
      expect(await resume({ key: another, token: wrong, fence })).toEqual({ type: 'superseded' })
    }
    expect(await probe.inspect(another)).toMatchObject({ held: true, fence })
    probe.needs(context, 'foreign-holders')
    const foreign = probe.key()
    await probe.admin.replace(foreign, longMs)
    expect(await resume({ key: foreign, token })).toEqual({ type: 'superseded' })
  })

  claim('a resume that comes once more, late, is spent and takes nothing', async () => {
    const [released, expired, another] = [probe.key(), probe.key(), probe.key()]
    const request = async (key: string, ttlMs = longMs): Promise<Asked> => {
      const { token } = await probe.grant({ key, ttlMs })
      return { key, token, acquisitionId: probe.acquisitionId(), ttlMs }
    }
    const first = await request(released)
    await probe.release({ key: released, token: (await taken(first)).token })
    expect(await resume(first)).toEqual({ type: 'spent' })
    const second = await request(expired, shortMs)
    await taken(second)
    await probe.advance(shortMs)
    expect(await resume(second)).toEqual({ type: 'spent' })
    for (const key of [released, expired]) expect((await probe.inspect(key)).held).toBe(false)

    const third = await request(another)
    await probe.release({ key: another, token: (await taken(third)).token })
    const { fence } = await probe.grant({ key: another })
    expect(await resume(third)).toEqual({ type: 'superseded' })
    expect(await probe.inspect(another)).toMatchObject({ held: true, fence })
  })

  claim('how the lease before ended is still known while the resumed one lives', async () => {
    const key = probe.key()
    const ended = await probe.grant({ key })
    await probe.release({ key, token: ended.token })
    const { token } = await probe.grant({ key })
    const next = await taken({ key, token })
    expect(await probe.release({ key, token: ended.token })).toBe('released')
    expect(await probe.renew(key, next.token, longMs)).toBe('renewed')
  })

  claim('what a lost answer may have taken over is given back by the acquisition id', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    const acquisitionId = probe.acquisitionId('next')
    // The resume has not been carried out yet: the detached lease is not touched.
    expect(await probe.release({ key, acquisitionId })).toBe('superseded')
    await taken({ key, token, acquisitionId })
    expect(await probe.release({ key, acquisitionId })).toBe('released')
    expect((await probe.inspect(key)).held).toBe(false)
  })

  claim('a call that was aborted before it began does nothing', async () => {
    const key = probe.key()
    const { token, fence } = await probe.grant({ key })
    expect(await resume({ key, token }, AbortSignal.abort())).toMatchObject({ type: 'unknown', executed: 'no' })
    expect(await probe.inspect(key)).toMatchObject({ held: true, fence })
  })
}

const fenceIn = (token: string): number => Number(/\d+$/.exec(token)?.[0])
