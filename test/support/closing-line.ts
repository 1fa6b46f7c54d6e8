import type { Reporter, TestModule } from 'vitest/node'

/**
 * Ends a run with one plain line, `N passed, N failed`, that a script can read. A file or hook that fails without a
 * failed test counts as one failure, and so does an error outside any test.
 */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0 }
    for (const module of modules) {
      const results = Array.from(module.children.allTests(), (test) => test.result().state)
      for (const state of results) counts[state === 'pending' ? 'failed' : state]++
      if (!module.ok() && !results.includes('failed')) counts.failed++
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
    console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`)
  }
}
