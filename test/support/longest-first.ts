import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** These suites start compilers, bundlers and runtimes, and have the longest files. Those of `servers` mostly wait. */
const busy = ['workerd', 'watchdog', 'runtimes', 'edge']

/**
 * The longest files come first, so that none is left over when the other workers have nothing more to do. Busy files
 * alternate with waiting ones, so that the processors' work is spread evenly over the run.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const of = (...names: readonly string[]): TestSpecification[] =>
      names.flatMap((name) => sorted.filter(({ project }) => project.name === name))
    const waiting = of('servers')
    // There are about three waiting files for each busy one.
    const mixed = of(...busy).flatMap((file) => [file, ...waiting.splice(0, 3)])
    const placed = new Set([...mixed, ...waiting, ...of('unit')])
    return [...placed, ...sorted.filter((file) => !placed.has(file))]
  }
}
