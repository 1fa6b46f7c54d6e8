import { expect, it } from 'vitest'
import { asked, longMs, type Probe, shortMs, slackMs } from './probe.ts'

/** Keys that people use, or that could be mistaken for an entry of another key. */
const oddKeys: Readonly<Record<string, (key: string) => string>> = {
  'with colons': (key) => `coupon:issue:${key}`,
  'with a hash tag': (key) => `order:{${key}}`,
  'with a hash tag in front': (key) => `{${key}}:order`,
  'with spaces and line breaks': (key) => ` ${key} \t\r\n`,
  'with quotes and backslashes': (key) => `${key}"'\\\`$`,
  'with glob and path characters': (key) => `*?[${key}]/../%2F`,
  'of digits alone': (key) => `1234567890${Number.parseInt(key.slice(-8), 16)}`,
  'in other scripts, with emoji': (key) => `주문-заказ-طلب-🔒-${key}`,
  'of 512 bytes': (key) => key.padEnd(512, 'k'),
  'of 512 bytes in many-byte characters': (key) => `${key}${'🔒'.repeat(Math.floor((512 - key.length) / 4))}`,
}

/** Names under which some entry of `key` might be kept. */
const lookAlikes: readonly ((key: string) => string)[] = [
  (key) => `${key}:fence`,
  (key) => `fence:${key}`,
  (key) => `release:${key}`,
  (key) => `lock:${key}`,
  (key) => `{${key}}`,
  (key) => `{${key}}:fence`,
  (key) => `{lock:${key}}:fence`,
  (key) => `${key}.1`,
  (key) => `${key} `,
  (key) => key.toUpperCase(),
]

export function keyClaims(probe: Probe): void {
  for (const [what, oddly] of Object.entries(oddKeys)) {
    it(`a key ${what} goes through the whole life of a lease`, async () => {
      const request = asked(probe, { key: oddly(probe.key()), ttlMs: longMs })
      const { token } = await probe.grant(request)
      await probe.contention({ key: request.key })
      expect(await probe.inspect(request.key)).toMatchObject({ held: true })
      expect(await probe.renew(request.key, token, 2 * longMs)).toBe('renewed')
      expect(await probe.leftMs(request.key)).toBeGreaterThan(longMs)
      expect(await probe.release({ key: request.key, token })).toBe('released')
      expect(await probe.acquire(request)).toEqual({ type: 'spent' })
    })
  }

  it('a key never meets the entries of another key', async () => {
    const key = probe.key()
    const request = asked(probe, { key })
    const { token, fence } = await probe.grant(request)
    for (const alike of lookAlikes) {
      const other = await probe.grant({ key: alike(key) })
      expect(await probe.inspect(key)).toMatchObject({ held: true, fence })
      await probe.release({ key: alike(key), token: other.token })
    }
    expect(await probe.release({ key, token })).toBe('released')
    expect(await probe.acquire(request)).toEqual({ type: 'spent' })
  })

  it('keys that only look the same are different: composed and decomposed characters', async () => {
    const key = probe.key()
    await probe.grant({ key: `caf\u00e9-${key}` })
    await probe.grant({ key: `cafe\u0301-${key}` })
  })

  it('every entry of a lock has an expiry, from grant to release', async () => {
    const request = asked(probe, { key: probe.key(), fences: 17 })
    const { token } = await probe.grant(request)
    await allExpire(probe, request.key)
    await probe.grant(request)
    await probe.renew(request.key, token, 2 * longMs)
    await allExpire(probe, request.key)
    await probe.release({ key: request.key, token })
    await allExpire(probe, request.key)
  })

  it('every entry is kept as long as the lock, after a grant and after a renewal', async () => {
    const ttlMs = probe.fenceMemoryMs + longMs
    const key = probe.key()
    const { token } = await probe.grant({ key, ttlMs })
    await allLast(probe, key, ttlMs)
    await probe.renew(key, token, 2 * ttlMs)
    await allLast(probe, key, 2 * ttlMs)
  })

  it('every entry is kept as long as the lock, after a retry that was granted more', async () => {
    const request = asked(probe, {
      key: probe.key(),
      ttlMs: probe.fenceMemoryMs + longMs,
    })
    await probe.grant(request)
    await probe.grant({ ...request, ttlMs: 2 * request.ttlMs })
    await allLast(probe, request.key, 2 * request.ttlMs)
  })

  it('nothing is left once lock and fence memory are over', async () => {
    const [expired, released] = [probe.key(), probe.key()]
    await probe.grant({ key: expired, ttlMs: shortMs })
    const { token } = await probe.grant({ key: released, ttlMs: shortMs })
    await probe.release({ key: released, token })
    // A second more: a store may remove expired entries a little late.
    await probe.advance(Math.max(shortMs, probe.fenceMemoryMs) + 1_000)
    expect(await probe.entriesOf(expired)).toEqual([])
    expect(await probe.entriesOf(released)).toEqual([])
    // A release this late finds nothing.
    expect(await probe.release({ key: released, token })).toBe('gone')
    expect(await probe.entriesOf(released)).toEqual([])
  })
}

async function allExpire(probe: Probe, key: string): Promise<void> {
  const entries = await probe.entriesOf(key)
  expect(entries).not.toEqual([])
  expect(entries.filter(({ expiresInMs }) => expiresInMs === null)).toEqual([])
}

async function allLast(probe: Probe, key: string, ms: number): Promise<void> {
  for (const { name, expiresInMs } of await probe.entriesOf(key)) {
    expect(expiresInMs, name).toBeGreaterThan(ms - slackMs)
  }
}
