import { callUntil, type ScriptedStore } from '@leasehold/testkit'
import { drawAcquisitionId } from '../src/store/token.ts'

const { signal: never } = new AbortController()

/** Somebody elsewhere takes the lock `k`. Nothing of it is recorded. Returns what gives it back. */
export async function occupy(store: ScriptedStore, ttlMs = 3_600_000): Promise<() => Promise<void>> {
  const acquisitionId = drawAcquisitionId()
  await store.acquire([{ key: 'k', acquisitionId, ttlMs, fences: 1 }], callUntil(never))
  store.calls.length = 0
  return async () => {
    await store.release([{ key: 'k', acquisitionId }], callUntil(never))
  }
}

/** When each try was made, by the monotonic clock. */
export const triedAtMs = (store: ScriptedStore): number[] => store.called('acquire').map(({ atMs }) => atMs)

/** The distances between moments. */
export const gaps = (timesMs: readonly number[]): number[] =>
  timesMs.slice(1).map((timeMs, at) => timeMs - (timesMs[at] ?? 0))
