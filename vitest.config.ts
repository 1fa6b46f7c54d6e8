import { defineConfig } from 'vitest/config'
import { ClosingLine } from './test/support/closing-line.ts'
import { endWithRun } from './test/support/end-with-run.ts'

// Here, before anything is started: tests, Workers and what stands beside them inherit from this process.
endWithRun()

// `npm run soak` runs the cases with their literal times and counts, and what only makes sense that way.
const soak = process.env['LEASEHOLD_SOAK'] === '1'
const ignored = ['**/node_modules/**', '**/dist/**', '**/.types/**']
/** What runs inside workerd is a project of its own: the folder has the configuration. */
const workerd = 'test/runtimes/workerd'

export default defineConfig({
  test: {
    // One more than the two processors of a small machine: tests mostly wait, for expiries and for processes.
    maxWorkers: 3,
    reporters: ['default', new ClosingLine()],
    projects: [
      {
        test: {
          name: 'node',
          include: soak
            ? [
                '**/*.soak.test.ts',
                'test/{cases,faults,model}/**/*.test.ts',
                'test/runtimes/{worker-and-server*,bridge-killed}.test.ts',
              ]
            : ['packages/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...ignored, `${workerd}/**`, ...(soak ? [] : ['**/*.soak.test.ts'])],
          environment: 'node',
          globalSetup: 'test/support/global-setup.ts',
          // A lock test that passes at the second try has found something.
          retry: 0,
          // Expiry in a real store waits for real time, and a machine that is busy with other things needs several times as
          // long; a hang should still be told within a coffee's reach.
          testTimeout: soak ? 600_000 : 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 30_000 } },
          // Those that run side by side wait for real time to pass.
          maxConcurrency: 20,
        },
      },
      // It is the same with literal times and counts.
      ...(soak ? [] : [workerd]),
    ],
  },
})
