import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { callUntil } from '@leasehold/testkit'
import { expect, it, vi } from 'vitest'
import { drawAcquisitionId } from '../store/token.ts'
import { systemClock } from '../timing/clock.ts'
import { MemoryStore } from './memory-store.ts'
import { openTables } from './tables.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')
const heapBytes = (): number => {
  collectGarbage()
  return process.memoryUsage().heapUsed
}
const { signal } = new AbortController()

it('200,000 names never touched again: nothing is left of them after five seconds of real time', async () => {
  const tables = openTables(systemClock)
  const store = new MemoryStore(systemClock, 1_000, tables)
  const before = heapBytes()
  for (let i = 0; i < 200_000; i++) {
    await store.acquire(
      [{ key: `name ${i}`, acquisitionId: drawAcquisitionId(), ttlMs: 1_000, fences: 1 }],
      callUntil(signal),
    )
  }
  const taken = heapBytes() - before
  expect(taken).toBeGreaterThan(10_000_000)
  await vi.waitUntil(() => tables.locks.size + tables.fences.size === 0, { timeout: 5_000, interval: 50 })
  expect(heapBytes() - before).toBeLessThan(taken / 10)
})
