/* Unit tests share their processes: whatever a file has put in place of a global is removed at its end. */
import { afterAll, vi } from 'vitest'

afterAll(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  // Last, because a restored global may have been one of the fake timers.
  vi.useRealTimers()
})
