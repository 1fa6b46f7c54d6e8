import type { ReleaseOutcome } from '@leasehold/core/adapter'
import { type ReleaseAfterStore, releaseAfterOf } from '@leasehold/core/schedule'
import { expect, it, type TestContext, vi } from 'vitest'
import { callUntil } from '../call-until.ts'
import { ampleMs, longMs, type Probe, shortMs, slackMs, withOtherFence } from './probe.ts'

/** Claims about releases that take effect later, for a store that offers that. */
export function releaseAfterClaims(probe: Probe): void {
  async function releaseAfter(
    key: string,
    token: string,
    afterMs: number,
    signal = probe.signal,
  ): Promise<ReleaseOutcome> {
    const { releaseAfter } = releaseAfterOf(probe.store) as ReleaseAfterStore
    const [outcome] = await releaseAfter([{ key, token, afterMs }], callUntil(signal))
    return outcome as ReleaseOutcome
  }
  const claim = (name: string, test: (context: TestContext) => Promise<void>): void =>
    it(name, async (context) => {
      if (!releaseAfterOf(probe.store)) context.skip('releases that take effect later: the store does not offer it')
      await test(context)
    })

  claim('the lock is taken until then, sooner than it was or later', async () => {
    for (const [ttlMs, afterMs] of [
      [3 * longMs, longMs],
      [longMs, 3 * longMs],
    ] as const) {
      const key = probe.key()
      const { token, fence } = await probe.grant({ key, ttlMs, acquisitionId: probe.acquisitionId('job') })
      expect((await releaseAfter(key, token, afterMs)).type).toBe('released')
      const { expiresInMs } = await probe.contention({ key })
      expect(expiresInMs).toBeLessThanOrEqual(afterMs)
      expect(expiresInMs).toBeGreaterThan(afterMs - slackMs)
      expect(await probe.inspect(key)).toMatchObject({ held: true, holder: 'job', fence })
    }
  })

  claim('the lock is free afterwards', async () => {
    const key = probe.key()
    const { token, fence } = await probe.grant({ key })
    expect((await releaseAfter(key, token, shortMs)).type).toBe('released')
    await probe.advance(shortMs)
    expect((await probe.grant({ key })).fence).toBeGreaterThan(fence)
  })

  claim('nothing that is left of the holder keeps it longer, or takes it', async () => {
    const key = probe.key()
    const acquisitionId = probe.acquisitionId('job')
    const { token } = await probe.grant({ key, acquisitionId })
    await releaseAfter(key, token, longMs)
    expect(await probe.renew(key, token, 2 * longMs)).toBe('superseded')
    await probe.contention({ key, acquisitionId })
    expect(await probe.leftMs(key)).toBeLessThanOrEqual(longMs)
    // Releasing it once more, or undoing its acquire, does not free it sooner.
    expect(await probe.release({ key, token })).toBe('released')
    expect(await probe.release({ key, acquisitionId })).toBe('released')
    expect((await probe.inspect(key)).held).toBe(true)
  })

  claim('a repeat is told the truth: before that time, after it, and when another has the lock', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await releaseAfter(key, token, ampleMs)
    expect((await releaseAfter(key, token, longMs)).type).toBe('released')
    await probe.advance(ampleMs)
    expect((await releaseAfter(key, token, longMs)).type).toBe('released')
    expect((await probe.inspect(key)).held).toBe(false)
    const { fence } = await probe.grant({ key })
    expect((await releaseAfter(key, token, longMs)).type).toBe('released')
    expect(await probe.inspect(key)).toMatchObject({ fence })
    expect(await probe.leftMs(key)).toBeGreaterThan(longMs - slackMs)
  })

  claim('it never touches what another has, or what is gone', async () => {
    const [gone, revoked, another] = [probe.key(), probe.key(), probe.key()]
    const first = await probe.grant({ key: gone, ttlMs: shortMs })
    await probe.advance(shortMs)
    expect((await releaseAfter(gone, first.token, longMs)).type).toBe('gone')
    const second = await probe.grant({ key: revoked })
    await probe.revoke(revoked)
    expect((await releaseAfter(revoked, second.token, longMs)).type).toBe('revoked')
    for (const key of [gone, revoked]) expect((await probe.inspect(key)).held).toBe(false)

    const { token, fence } = await probe.grant({ key: another })
    expect((await releaseAfter(another, withOtherFence(token), shortMs)).type).toBe('superseded')
    expect(await probe.inspect(another)).toMatchObject({ held: true, fence })
    expect(await probe.leftMs(another)).toBeGreaterThan(longMs - slackMs)
  })

  claim('an operator can free it', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    await releaseAfter(key, token, longMs)
    expect(await probe.revoke(key)).toBe('revoked')
    await probe.grant({ key })
  })

  claim('those who listen are told, for the expiry is another now', async (context) => {
    probe.needs(context, 'announcements')
    const key = probe.key()
    const heard = await probe.listen(key)
    const { token, fence } = await probe.grant({ key })
    const outcome = await releaseAfter(key, token, longMs)
    expect(outcome).toMatchObject({ type: 'released', announced: true })
    await vi.waitUntil(() => heard.payloads.length > 0, { timeout: 2_000, interval: 10 })
    expect(heard.payloads).toEqual([`released ${fence}`])
    await heard.close()
  })

  claim('every entry has an expiry, and fences go on rising', async () => {
    const key = probe.key()
    const { token, fence } = await probe.grant({ key, fences: 1_000 })
    await releaseAfter(key, token, shortMs)
    for (const { expiresInMs } of await probe.entriesOf(key)) expect(expiresInMs).not.toBeNull()
    await probe.advance(shortMs)
    expect((await probe.grant({ key })).fence).toBeGreaterThanOrEqual(fence + 1_000)
  })

  claim('a call that was aborted before it began does nothing', async () => {
    const key = probe.key()
    const { token } = await probe.grant({ key })
    expect(await releaseAfter(key, token, 1, AbortSignal.abort())).toMatchObject({ type: 'unknown', executed: 'no' })
    expect(await probe.leftMs(key)).toBeGreaterThan(longMs - slackMs)
  })
}
