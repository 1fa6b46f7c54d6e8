import { defineConfig } from 'vitest/config'
// The side effect of loading this configuration is what `killed-run.test.ts` tests.
import '../../vitest.config.ts'

/** A run of `abandoned.ts` alone, for `killed-run.test.ts`. */
export default defineConfig({
  test: {
    include: ['abandoned.ts'],
    // Where this is used, the run is killed, or fails by itself.
    testTimeout: 0,
    hookTimeout: 0,
  },
})
