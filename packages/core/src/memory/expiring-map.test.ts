import { ManualClock, seededRandom } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ExpiringMap } from './expiring-map.ts'
import { ExpiryWheel } from './expiry-wheel.ts'

describe('a map whose entries expire', () => {
  let clock: ManualClock
  let map: ExpiringMap<string>
  const set = (key: string, ttlMs: number, value = key): void =>
    map.set(key, value, clock.monotonicMs() + ttlMs, clock.monotonicMs())
  const get = (key: string): string | undefined => map.get(key, clock.monotonicMs())?.value
  const extend = (key: string, ttlMs: number): void => map.extend(key, clock.monotonicMs() + ttlMs, clock.monotonicMs())

  beforeEach(() => {
    clock = new ManualClock()
    map = new ExpiringMap(new ExpiryWheel(clock))
  })
  afterEach(() => {
    vi.unstubAllGlobals()
  })

  it('an entry is there until its expiry, to the millisecond', async () => {
    set('a', 1_500)
    await clock.advance(1_499)
    expect(get('a')).toBe('a')
    await clock.advance(1)
    expect(get('a')).toBeUndefined()
  })

  it('an expired entry is freed although nobody asks for it', async () => {
    set('a', 1_500)
    await clock.advance(2_500)
    expect(map.size).toBe(0)
  })

  it('an entry that expires beyond the ring is kept, and freed in its time', async () => {
    const month = 30 * 24 * 3_600_000
    set('a', month)
    await clock.advance(month - 1)
    expect(get('a')).toBe('a')
    await clock.advance(1_001)
    expect(map.size).toBe(0)
  })

  it('an expiry is extended and never shortened', async () => {
    set('a', 2_000)
    extend('a', 10_000)
    extend('a', 1)
    await clock.advance(9_999)
    expect(get('a')).toBe('a')
    await clock.advance(1_001)
    expect(map.size).toBe(0)
  })

  it('what has expired cannot be extended', async () => {
    set('a', 1_500)
    clock.block(1_500)
    extend('a', 10_000)
    expect(get('a')).toBeUndefined()
  })

  it('an entry set again has its new value and its new expiry, sooner or later', async () => {
    set('a', 10_000, 'first')
    set('a', 2_000, 'second')
    expect(get('a')).toBe('second')
    await clock.advance(3_000)
    expect(map.size).toBe(0)
    set('b', 2_000)
    set('b', 10_000)
    await clock.advance(9_999)
    expect(get('b')).toBe('b')
  })

  it('an entry without expiry stays, and needs no timer', async () => {
    set('a', Infinity)
    expect(clock.pending).toBe(0)
    await clock.advance(3_600_000)
    expect(get('a')).toBe('a')
  })

  it('the timer is one, in the background, and only while there is something to free', async () => {
    expect(clock.pending).toBe(0)
    for (const ttlMs of [5_000, 90_000, 1_500, 20_000]) set(`ttl ${ttlMs}`, ttlMs)
    expect(clock.timers).toMatchObject([{ background: true }])
    await clock.advance(91_000)
    expect(map.size).toBe(0)
    expect(clock.pending).toBe(0)
  })

  it('the timer runs once per expiry, not on a beat', async () => {
    const schedule = vi.spyOn(clock, 'schedule')
    set('a', 600_000)
    await clock.advance(601_000)
    expect(map.size).toBe(0)
    expect(schedule).toHaveBeenCalledTimes(1)
  })

  it('a mass expiry is freed in turns, none of them long', async () => {
    const turns: number[] = []
    const schedule = clock.schedule.bind(clock)
    vi.spyOn(clock, 'schedule').mockImplementation((callback, delayMs, mode) =>
      schedule(
        () => {
          const before = map.size
          callback()
          turns.push(before - map.size)
        },
        delayMs,
        mode,
      ),
    )
    for (let i = 0; i < 20_000; i++) set(String(i), 1_000)
    await clock.advance(3_000)
    expect(map.size).toBe(0)
    expect(Math.max(...turns)).toBeLessThan(10_000)
  })

  it('where calls share no timers there is none, and later entries free the expired ones', () => {
    vi.stubGlobal('EdgeRuntime', 'edge')
    for (let i = 0; i < 1_000; i++) set(`old ${i}`, 1_000)
    expect(clock.pending).toBe(0)
    clock.block(3_000)
    for (let i = 0; i < 500; i++) set(`new ${i}`, 60_000)
    expect(map.size).toBe(500)
  })

  it('random work leaves exactly what a plain map with a check of the clock would', async () => {
    const { random, seed } = seededRandom()
    const model = new Map<string, number>()
    for (let step = 0; step < 5_000; step++) {
      const key = `key ${Math.floor(random() * 50)}`
      const ttlMs = 1 + Math.floor(random() ** 4 * 5_000_000)
      const nowMs = clock.monotonicMs()
      const action = random()
      if (action < 0.4) {
        set(key, ttlMs)
        model.set(key, nowMs + ttlMs)
      } else if (action < 0.7) {
        extend(key, ttlMs)
        const expiresAtMs = model.get(key) ?? 0
        if (expiresAtMs > nowMs) model.set(key, Math.max(expiresAtMs, nowMs + ttlMs))
      } else if (action < 0.8) {
        map.delete(key)
        model.delete(key)
      } else {
        // Sometimes with the timers on time, sometimes with all of them late.
        const passMs = Math.floor(random() ** 6 * 3_000_000)
        if (random() < 0.5) await clock.advance(passMs)
        else clock.block(passMs)
      }
      const expiresAtMs = model.get(key) ?? 0
      const expected = expiresAtMs > clock.monotonicMs() ? expiresAtMs : undefined
      expect(map.get(key, clock.monotonicMs())?.expiresAtMs, `seed ${seed}, step ${step}`).toBe(expected)
    }
    await clock.advance(5_001_000)
    expect(map.size, `seed ${seed}`).toBe(0)
    expect(clock.pending).toBe(0)
  })
})
