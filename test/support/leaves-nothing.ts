/* Unit tests share their processes: what a file has put in the place of a global goes with it. */
import { afterAll, vi } from 'vitest'

afterAll(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  // The last: a global that is put back may have been one of the false timers.
  vi.useRealTimers()
})
