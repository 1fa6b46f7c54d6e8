import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { all, listed, never, soak, soakOnly, workerd } from './test/suites.ts'
import { ClosingLine } from './test/support/closing-line.ts'
import { endWithRun } from './test/support/end-with-run.ts'
import { LongestFirst } from './test/support/longest-first.ts'

// Here, before anything is started: tests, Workers and what stands beside them inherit from this process.
endWithRun()

const soaks = process.env['LEASEHOLD_SOAK'] === '1'

const suite = (
  name: string,
  test: NonNullable<TestProjectInlineConfiguration['test']>,
): TestProjectInlineConfiguration => ({
  test: {
    name,
    environment: 'node',
    // A lock test that passes at the second try has found something.
    retry: 0,
    // Expiry in a real store waits for real time, and a machine that is busy with other things needs several times as
    // long; a hang should still be told within a coffee's reach.
    testTimeout: soaks ? 600_000 : 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    // Those that run side by side wait for real time to pass.
    maxConcurrency: 20,
    ...test,
  },
})

const withRedis = { globalSetup: 'test/support/global-setup.ts' }
const inWorkerd = workerd.map((folder) => `${folder}/**`)
const notHere = [...never, ...soakOnly, ...inWorkerd]
const suites = [
  suite('unit', {
    include: all,
    exclude: [...notHere, ...Object.values(listed).flat()],
    // They start nothing and leave nothing, so they may share a process, and read the modules in it once.
    isolate: false,
    setupFiles: ['test/support/starts-nothing.ts', 'test/support/leaves-nothing.ts'],
  }),
  ...Object.entries(listed).map(([name, include]) =>
    suite(name, { include: [...include], exclude: notHere, ...withRedis }),
  ),
  ...workerd,
]

export default defineConfig({
  test: {
    // Two more than the processors of a small machine: tests mostly wait, for expiries and for processes. The soak takes its limits
    // literally, and so has no more than there are processors.
    maxWorkers: soaks ? 2 : 4,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new ClosingLine()],
    projects: soaks ? [suite('soak', { include: soak, exclude: [...never, ...inWorkerd], ...withRedis })] : suites,
  },
})
