import { fileURLToPath } from 'node:url'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { all, filesAtOnce, listed, never, soak, soakAlone, soakOnly, workerd } from './test/suites.ts'
import { ClosingLine } from './test/support/closing-line.ts'
import { endWithRun } from './test/support/end-with-run.ts'
import { LongestFirst } from './test/support/longest-first.ts'

// Here, before anything is started: tests, Workers and the processes beside them inherit from this process.
endWithRun()
// They load the same modules over and over. Node keeps what it made of them, types stripped and compiled.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/node', import.meta.url))

const soaks = process.env['LEASEHOLD_SOAK'] === '1'

const suite = (
  name: string,
  test: NonNullable<TestProjectInlineConfiguration['test']>,
): TestProjectInlineConfiguration => ({
  test: {
    name,
    environment: 'node',
    // A lock test that passes on the second try has found something.
    retry: 0,
    // Expiry in a real store takes real time, and a busy machine needs several times as long; a hang should still be
    // reported within minutes.
    testTimeout: soaks ? 600_000 : 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    // Concurrent tests wait for real time to pass.
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
    // They start nothing and leave nothing, so they may share a process, and load its modules once.
    isolate: false,
    setupFiles: ['test/support/starts-nothing.ts', 'test/support/leaves-nothing.ts'],
  }),
  ...Object.entries(listed).map(([name, include]) =>
    suite(name, { include: [...include], exclude: notHere, ...withRedis }),
  ),
  ...workerd,
]

// A soak takes its limits literally. So no more runs at once than there are processors, and nothing beside what needs
// them all.
const ofSoak = [
  suite('soak', {
    include: soak,
    exclude: [...never, ...soakAlone, ...inWorkerd],
    maxWorkers: 2,
    sequence: { groupOrder: 0 },
    ...withRedis,
  }),
  suite('soak-alone', { include: soakAlone, maxWorkers: 1, sequence: { groupOrder: 1 }, ...withRedis }),
]

export default defineConfig({
  test: {
    maxWorkers: filesAtOnce,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new ClosingLine()],
    projects: soaks ? ofSoak : suites,
  },
})
