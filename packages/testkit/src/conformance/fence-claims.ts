import { expect, it } from 'vitest'
import { asked, longMs, type Probe, shortMs, slackMs } from './probe.ts'

export function fenceClaims(probe: Probe): void {
  it('a fence is a positive safe integer', async (context) => {
    probe.needs(context, 'fences')
    const { fence } = await probe.grant({ key: probe.key() })
    expect(Number.isSafeInteger(fence)).toBe(true)
    expect(fence).toBeGreaterThan(0)
  })

  it('each grant has a higher fence than the one before, however the one before ended', async (context) => {
    probe.needs(context, 'fences')
    const key = probe.key()
    const ends = {
      release: (token: string) => probe.release({ key, token }),
      revoke: () => probe.revoke(key),
      deletion: () => probe.admin.remove(key),
      expiry: () => probe.advance(shortMs),
    }
    let last = 0
    for (const [how, end] of Object.entries(ends)) {
      const { fence, token } = await probe.grant({ key, ttlMs: shortMs })
      expect(fence, `after ${how}`).toBeGreaterThan(last)
      last = fence ?? 0
      await end(token)
    }
    expect((await probe.grant({ key })).fence).toBeGreaterThan(last)
  })

  it('fences rise strictly in quick succession', async (context) => {
    probe.needs(context, 'fences')
    const key = probe.key()
    const fences: (number | null)[] = []
    for (let i = 0; i < 50; i++) {
      const { fence, token } = await probe.grant({ key })
      fences.push(fence)
      await probe.release({ key, token })
    }
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => Number(a) - Number(b)))
  })

  it('a grant reserves as many fences as were asked for', async (context) => {
    probe.needs(context, 'fences')
    const key = probe.key()
    // More than the microseconds until the next grant, or the clock alone would make the claim true.
    const reserved = 1_000_000_000
    const first = await probe.grant({ key, fences: reserved })
    await probe.release({ key, token: first.token })
    const second = await probe.grant({ key })
    expect(second.fence).toBe(Number(first.fence) + reserved)
  })

  it('a retry keeps its fence and reserves no others', async (context) => {
    probe.needs(context, 'fences')
    const request = asked(probe, { key: probe.key(), fences: 1_000_000_000 })
    const first = await probe.grant(request)
    expect((await probe.grant(request)).fence).toBe(first.fence)
    await probe.release({ key: request.key, token: first.token })
    expect((await probe.grant({ key: request.key })).fence).toBe(Number(first.fence) + request.fences)
  })

  it('a contended request mints no fence', async (context) => {
    probe.needs(context, 'fences')
    const key = probe.key()
    const reserved = 1_000_000_000
    const first = await probe.grant({ key, fences: reserved })
    await probe.contention({ key, fences: reserved })
    await probe.release({ key, token: first.token })
    expect((await probe.grant({ key })).fence).toBe(Number(first.fence) + reserved)
  })

  it('a fence is the wall clock in microseconds, so that it tells since when the lock is held', async (context) => {
    probe.needs(context, 'fences')
    const key = probe.key()
    const before = await probe.grant({ key: probe.key() })
    await probe.advance(shortMs)
    const { fence } = await probe.grant({ key })
    expect(fence).toBeGreaterThanOrEqual(Number(before.fence) + shortMs * 1_000)
    expect(fence).toBeLessThan(Number(before.fence) + (shortMs + slackMs) * 1_000)
  })

  it('the last fence is kept as long from the last renewal, though that did not extend the lock', async (context) => {
    probe.needs(context, 'fences')
    const key = probe.key()
    const ttlMs = probe.fenceMemoryMs - 1
    const { token } = await probe.grant({ key, ttlMs })
    await probe.advance(shortMs)
    await probe.expectWholeLife(
      probe.fenceMemoryMs,
      async () => expect(await probe.renew(key, token, 1)).toBe('renewed'),
      () => longestKeptMs(probe, key),
    )
  })

  it('fences rise although the wall clock was set back', async (context) => {
    probe.needs(context, 'fences')
    probe.needs(context, 'wall-clock')
    const key = probe.key()
    const first = await probe.grant({ key })
    await probe.release({ key, token: first.token })
    probe.setWallClockBack(longMs)
    expect((await probe.grant({ key })).fence).toBe(Number(first.fence) + 1)
  })
}

/** The time until no entry of the lock is left, in milliseconds. */
const longestKeptMs = async (probe: Probe, key: string): Promise<number> =>
  Math.max(...(await probe.entriesOf(key)).map(({ expiresInMs }) => expiresInMs ?? Infinity))
