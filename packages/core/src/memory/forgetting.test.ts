import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { callUntil, ManualClock } from '@leasehold/testkit'
import { expect, it } from 'vitest'
import { drawAcquisitionId } from '../store/token.ts'
import { MemoryStore } from './memory-store.ts'
import { openTables } from './tables.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')
const heapBytes = (): number => {
  collectGarbage()
  return process.memoryUsage().heapUsed
}
const { signal } = new AbortController()

// https://github.com/AnchorNet-Org/AnchorNet-Backend/issues/221: entries were checked on read and never removed.
it('20,000 names never touched again: locks are freed soon after expiry, records after the fence memory', async () => {
  const clock = new ManualClock()
  const tables = openTables(clock)
  const store = new MemoryStore(clock, 600_000, tables)
  const before = heapBytes()
  for (let i = 0; i < 20_000; i++) {
    await store.acquire(
      [{ key: `name ${i}`, acquisitionId: drawAcquisitionId(), ttlMs: 1_000, fences: 1 }],
      callUntil(signal),
    )
  }
  const taken = heapBytes() - before
  expect(taken).toBeGreaterThan(1_000_000)
  expect([tables.locks.size, tables.fences.size]).toEqual([20_000, 20_000])

  await clock.advance(2_000)
  expect([tables.locks.size, tables.fences.size]).toEqual([0, 20_000])
  await clock.advance(600_000)
  expect([tables.locks.size, tables.fences.size]).toEqual([0, 0])
  expect(clock.pending).toBe(0)
  // A heap never shrinks back to the byte; a tenth is far less than keeping the entries.
  expect(heapBytes() - before).toBeLessThan(taken / 10)
})
