import { defineConfig } from 'vitest/config'
import { ClosingLine } from './test/support/closing-line.ts'

// `npm run soak` runs the cases with their literal times and counts, and what only makes sense that way.
const soak = process.env['LEASEHOLD_SOAK'] === '1'
const ignored = ['**/node_modules/**', '**/dist/**', '**/.types/**']

export default defineConfig({
  test: {
    include: soak
      ? ['**/*.soak.test.ts', 'test/{cases,faults,model}/**/*.test.ts']
      : ['packages/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    exclude: soak ? ignored : [...ignored, '**/*.soak.test.ts'],
    environment: 'node',
    globalSetup: 'test/support/global-setup.ts',
    // A lock test that passes at the second try has found something.
    retry: 0,
    // Expiry in a real store waits for real time; a hang should still be told within a coffee's reach.
    testTimeout: soak ? 600_000 : 20_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
    reporters: ['default', new ClosingLine()],
  },
})
