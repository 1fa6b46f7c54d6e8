import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The suites with the longest files come first: none is left over when the other workers have nothing more to do. */
const order = ['workerd', 'watchdog', 'runtimes', 'edge', 'servers', 'unit']

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ project }: TestSpecification) => order.indexOf(project.name)
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}
