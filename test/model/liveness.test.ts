import { createLocker, type LockerOptions, poll } from '@leasehold/core'
import type { LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { LockHistory, livenessFaults, ManualClock, seededRandom } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import { rounds } from '../support/scale.ts'
import { seededRun } from '../support/seeded-run.ts'
import { storeLike } from '../support/store-like.ts'
import type { Weather } from '../support/weather.ts'

const { seed } = seededRandom()

/** Plays a run for each seed. A failure names the first seed whose record is wrong, so that it can be repeated. */
async function expectNobodyWaitsInVain(weather: Weather, runs: number): Promise<void> {
  const { roundTripMs } = weather
  for (let run = seed; run < seed + runs; run++) {
    const history = await seededRun(run, weather).catch((cause: unknown) => {
      throw new Error(`LEASEHOLD_SEED=${run} could not be played`, { cause })
    })
    const faults = livenessFaults(history, { roundTripMs })
    const texts = [...new Set(faults.map(({ text }) => text))]
    expect(texts, `LEASEHOLD_SEED=${run}, after ${run - seed} runs without a fault`).toEqual([])
  }
}

/** Far more than a quiet machine needs, in milliseconds. */
const timeout = 600_000

describe('whoever waits for a lock gets it soon after it is free, and is told the truth', () => {
  it(
    'among bursts, head starts and callers who leave',
    async () => {
      await expectNobodyWaitsInVain({ roundTripMs: 0, lost: 0, revocations: false, deaths: false }, rounds(10_000, 500))
    },
    timeout,
  )

  it(
    'among holders that die and operators who take locks away',
    async () => {
      await expectNobodyWaitsInVain({ roundTripMs: 0, lost: 0, revocations: true, deaths: true }, rounds(5_000, 150))
    },
    timeout,
  )

  it(
    'when answers take their time',
    async () => {
      await expectNobodyWaitsInVain({ roundTripMs: 60, lost: 0, revocations: false, deaths: true }, rounds(2_000, 60))
    },
    timeout,
  )

  it(
    'when requests and replies are lost, or come when nobody expects them any more',
    async () => {
      await expectNobodyWaitsInVain({ roundTripMs: 20, lost: 0.1, revocations: true, deaths: true }, rounds(2_000, 60))
    },
    timeout,
  )
})

describe('a run is judged wrong', () => {
  /** A holder releases the lock after a second; until then a waiter of another process is there. */
  async function rulesOf(options: {
    readonly store?: (store: LeaseStore) => LeaseStore
    readonly waiter?: Partial<LockerOptions>
    /** The caller gives up, and the waiter is not told. */
    readonly leavesUnheard?: boolean
  }): Promise<readonly string[]> {
    const clock = new ManualClock()
    const history = new LockHistory(clock)
    const real = memoryStore({ clock })
    const store = history.behind(options.store?.(real) ?? real)
    const holder = createLocker({ store: history.before(store, 'holder'), clock })
    const waiter = createLocker({
      store: history.before(store, 'waiter'),
      clock,
      notifier: memoryNotifier(real),
      ...options.waiter,
    })
    const stop = new AbortController()
    const lease = await holder.acquire('k')
    const waiting = { key: 'k', process: 'waiter', waitMs: 30_000, patienceMs: 1_000 }
    history.follow(waiter.acquire('k', { wait: '30s' }), waiting, stop.signal)
    await clock.advance(500)
    if (options.leavesUnheard) stop.abort('gave up')
    await clock.advance(500)
    await lease.release()
    await clock.advance(5_000)
    return livenessFaults(history).map(({ rule }) => rule)
  }

  it('not if all is well', async () => {
    expect(await rulesOf({})).toEqual([])
  })

  it('if a waiter is not woken and does not check', async () => {
    const real = memoryNotifier(memoryStore())
    const asleep: ReleaseNotifier = {
      ...real,
      waiter: (clock) => ({
        pause: (_, leftMs) => new Promise((resolve) => void clock.schedule(resolve, leftMs())),
        wake: () => undefined,
        close: () => undefined,
      }),
    }
    expect(await rulesOf({ waiter: { notifier: asleep } })).toEqual(['free'])
  })

  it('if a waiter checks less often than it should', async () => {
    expect(await rulesOf({ waiter: { notifier: undefined, strategy: poll({ every: '9s' }) } })).toEqual(['free'])
  })

  it('if the store keeps what was given back', async () => {
    const keeping = (store: LeaseStore): LeaseStore =>
      storeLike(store, {
        release: async (requests) => requests.map(() => ({ type: 'released', announced: true, subscribers: 0 })),
      })
    expect(await rulesOf({ store: keeping })).toEqual(['free'])
  })

  it('if a call goes on after it was aborted', async () => {
    expect(await rulesOf({ leavesUnheard: true })).toEqual(['abort'])
  })
})
