import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from './clock.ts'

const dayMs = 86_400_000
const longestTimerMs = 2 ** 31 - 1

describe('the system clock', () => {
  it('reads both clocks', () => {
    const before = [performance.now(), Date.now()] as const
    const monotonicMs = systemClock.monotonicMs()
    const wallMs = systemClock.wallMs()
    expect(monotonicMs).toBeGreaterThanOrEqual(before[0])
    expect(monotonicMs).toBeLessThanOrEqual(performance.now())
    expect(wallMs).toBeGreaterThanOrEqual(before[1])
    expect(wallMs).toBeLessThanOrEqual(Date.now())
  })
})

describe('a timer of the system clock', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    // Before the real timers return: mocks of fake timers, restored later, would replace them.
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })

  it('calls back once, when its time has come', () => {
    const callback = vi.fn()
    systemClock.schedule(callback, 100)
    vi.advanceTimersByTime(99)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1_000)
    expect(callback).toHaveBeenCalledTimes(1)
  })

  it('may be longer than runtimes count: 90 days neither overflow nor fire at once', () => {
    const armed = vi.spyOn(globalThis, 'setTimeout')
    const callback = vi.fn()
    systemClock.schedule(callback, 90 * dayMs)
    vi.advanceTimersByTime(90 * dayMs - 1)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(1)
    const delays = armed.mock.calls.map(([, delayMs]) => delayMs as number)
    expect(delays).toHaveLength(4)
    expect(Math.max(...delays)).toBe(longestTimerMs)
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([longestTimerMs - 1, longestTimerMs, longestTimerMs + 1, 2 * longestTimerMs])('of %d ms is exact', (ms) => {
    const callback = vi.fn()
    systemClock.schedule(callback, ms)
    vi.advanceTimersByTime(ms - 1)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('can be cancelled in every link of its chain, and again afterwards', () => {
    const callback = vi.fn()
    const cancelFirst = systemClock.schedule(callback, 60 * dayMs)
    cancelFirst()
    const cancelLater = systemClock.schedule(callback, 60 * dayMs)
    vi.advanceTimersByTime(30 * dayMs)
    expect(vi.getTimerCount()).toBe(1)
    cancelLater()
    cancelLater()
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(60 * dayMs)
    expect(callback).not.toHaveBeenCalled()
  })

  it('does not keep the process alive in the background, in any link of its chain', () => {
    const unref = vi.fn()
    const links: (() => void)[] = []
    vi.stubGlobal('setTimeout', (link: () => void) => {
      links.push(link)
      return { unref }
    })
    systemClock.schedule(() => undefined, 30 * dayMs, 'background')
    expect(unref).toHaveBeenCalledTimes(1)
    links[0]?.()
    expect(unref).toHaveBeenCalledTimes(2)
    systemClock.schedule(() => undefined, 100)
    expect(unref).toHaveBeenCalledTimes(2)
  })

  it('works in the background where a runtime has numbers for timers', () => {
    vi.stubGlobal('setTimeout', () => 7)
    expect(() => systemClock.schedule(() => undefined, 100, 'background')).not.toThrow()
  })
})
