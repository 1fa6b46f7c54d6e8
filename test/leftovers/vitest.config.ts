import { defineConfig } from 'vitest/config'
// What this one does when it is read is what `killed-run.test.ts` is about.
import '../../vitest.config.ts'

/** A run of `abandoned.ts` alone, for `killed-run.test.ts`. */
export default defineConfig({
  test: {
    include: ['abandoned.ts'],
    // Where it is used, the run is killed, or fails by itself.
    testTimeout: 0,
    hookTimeout: 0,
  },
})
