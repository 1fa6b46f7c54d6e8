import { testLocker } from '@leasehold/testkit'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { sharesBetweenCalls as byPackage } from '#sharing'
import { homeContext, sharesBetweenCalls } from './sharing.ts'
import { sharesBetweenCalls as onWorkers } from './sharing.workerd.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('calls of one process', () => {
  it('share timers and promises on a server', () => {
    expect(sharesBetweenCalls()).toBe(true)
    expect(byPackage()).toBe(true)
  })

  it('share nothing in the build for Workers', () => {
    expect(onWorkers()).toBe(false)
  })

  it('share nothing on Workers although the build missed the export condition', () => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
    expect(sharesBetweenCalls()).toBe(false)
  })

  it('share nothing on the edge runtime although the build missed the export condition', () => {
    vi.stubGlobal('EdgeRuntime', 'edge-runtime')
    expect(sharesBetweenCalls()).toBe(false)
  })

  it('share in a runtime without a navigator', () => {
    vi.stubGlobal('navigator', undefined)
    expect(sharesBetweenCalls()).toBe(true)
  })

  it('are asked anew each time: a module that is loaded before its runtime is known is not wrong for ever', () => {
    expect(sharesBetweenCalls()).toBe(true)
    vi.stubGlobal('EdgeRuntime', 'edge-runtime')
    expect(sharesBetweenCalls()).toBe(false)
  })
})

describe('a task that is run at home', () => {
  it.each([undefined, 'edge-runtime'])(
    'and throws rejects for whoever waits for it (EdgeRuntime: %s)',
    async (runtime) => {
      if (runtime) vi.stubGlobal('EdgeRuntime', runtime)
      const home = homeContext()
      const failing = home(() => {
        throw new Error('a bug')
      })
      await expect(failing).rejects.toThrow('a bug')
      expect(await home(() => 'the next')).toBe('the next')
    },
  )
})

describe('where calls share nothing', () => {
  it('each lease renews itself by a timer of its own, which ends with it', async () => {
    vi.stubGlobal('EdgeRuntime', 'edge-runtime')
    const { locks, store, clock } = testLocker()
    const [first, second] = await Promise.all([locks.acquire('a'), locks.acquire('b')])
    expect(clock.pending).toBe(2)
    await clock.advance(60_000)
    expect(store.called('renew').every(({ requests }) => requests.length === 1)).toBe(true)
    expect([first.signal.aborted, second.signal.aborted]).toEqual([false, false])
    await first.release()
    expect(clock.pending).toBe(1)
    await second.release()
    expect(clock.pending).toBe(0)
  })
})
