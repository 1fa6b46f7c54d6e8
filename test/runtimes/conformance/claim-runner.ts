import { createExpect, type TestContext, type VitestTestRunner } from 'vitest'
import { startTests } from 'vitest/internal/browser'

/** The result of one claim. */
export interface ClaimResult {
  /** The name, including those of the enclosing suites. */
  readonly name: string
  readonly state: 'passed' | 'failed' | 'skipped'
  /** Why the claim was skipped, or what was wrong. */
  readonly reason: string
}

/** In milliseconds, for a machine that is busy with other tests. */
const patienceMs = 60_000

const config = {
  root: '/',
  name: '',
  setupFiles: [],
  allowOnly: true,
  sequence: { hooks: 'stack', setupFiles: 'parallel', seed: 0 },
  maxConcurrency: 20,
  testTimeout: patienceMs,
  hookTimeout: patienceMs,
  retry: 0,
  tags: [],
  strictTags: false,
  expect: { poll: { timeout: 30_000 } },
  snapshotOptions: { expand: false },
}

/**
 * Runs what `declare` declares with `describe` and `it`, with Vitest's own runner and matchers, and without the rest of
 * Vitest, which is for Node 22 and later. Nothing here needs Node, so it runs wherever JavaScript does.
 *
 * A failed hook counts as a failed claim, and so does a claim that is skipped without a reason.
 */
export async function runClaims(declare: () => unknown): Promise<readonly ClaimResult[]> {
  // Where Vitest's matchers look for their settings.
  Object.assign(globalThis, { __vitest_worker__: { config, ctx: {} } })
  const runner = {
    config: config as unknown as VitestTestRunner['config'],
    importFile: declare,
    extendTaskContext: (context: TestContext) =>
      Object.defineProperty(context, 'expect', { value: createExpect(context.task) }),
  } satisfies VitestTestRunner
  const files = await startTests(['/claims'], runner)
  return files.flatMap((file) => resultsOf(file, []))
}

type File = Awaited<ReturnType<typeof startTests>>[number]

function resultsOf(task: File | File['tasks'][number], within: readonly string[]): readonly ClaimResult[] {
  const path = 'filepath' in task ? within : [...within, task.name]
  const name = path.join(' > ')
  const wrong = task.result?.errors?.map(({ message, stack }) => stack ?? message).join('\n')
  if (task.type === 'suite') {
    const ofHooks = wrong === undefined ? [] : [{ name, state: 'failed', reason: wrong } as const]
    return [...ofHooks, ...task.tasks.flatMap((each) => resultsOf(each, path))]
  }
  if (task.result?.state === 'pass') return [{ name, state: 'passed', reason: '' }]
  // The argument of `skip`, which Vitest's types do not include.
  const { note } = (task.result ?? {}) as { readonly note?: string }
  if (wrong === undefined && note !== undefined) return [{ name, state: 'skipped', reason: note }]
  return [{ name, state: 'failed', reason: wrong ?? 'It was skipped for no reason' }]
}
