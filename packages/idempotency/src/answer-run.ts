import type { Abandonment, Completion, Run } from '@leasehold/core/records'
import { answerRecord } from './answer-record.ts'
import { type BodyRead, readBody } from './body-reader.ts'
import type { Ending } from './endings.ts'
import type { NotKeptEvent } from './events.ts'
import { overtakenRetrySeconds } from './figures.ts'
import { type GuardedRequest, withBody } from './guarded-request.ts'
import { problem } from './problem.ts'
import { encodeResult } from './result-format.ts'

/** Does the work of a run, and ends the run as the rules say. Only then is the answer returned. */
export async function answerRun(
  guarded: GuardedRequest,
  run: Run,
  work: (run: Run) => Response | Promise<Response>,
): Promise<Response> {
  const { endings } = guarded.settings
  try {
    const { response, read } = await worked(guarded, () => work(run)).catch(async (error: unknown) => {
      await failed(guarded, run, endingOf(guarded, error))
      throw error
    })
    if (read) return await completed(guarded, run, response, read)
    if (endings.ofStatus(response.status) === 'leave') return response
    return settled(guarded, run, await run.abandon(), withBody(response, response.body))
  } finally {
    // A run that has not ended by now leaves its key in doubt.
    await run.leave()
  }
}

/** The ending that the rules give an error. A rule that throws must not hide that error. */
function endingOf(guarded: GuardedRequest, error: unknown): Ending {
  try {
    return guarded.settings.endings.ofError(error)
  } catch (cause) {
    guarded.tell({ type: 'misconfigured', request: guarded.title, cause })
    return 'leave'
  }
}

/** Ends the run of work that threw. The caller gets what the work threw, not the problem that is recorded. */
async function failed(guarded: GuardedRequest, run: Run, ending: Ending): Promise<void> {
  const { clock, problems, largestResult: largest, resultWithinMs: withinMs } = guarded.settings
  const failure = problem(problems, 'work-failed')
  if (ending === 'complete') {
    await completed(guarded, run, failure, await readBody(failure.body, { clock, largest, withinMs }))
  } else if (ending === 'abandon') settled(guarded, run, await run.abandon(), failure)
}

/** Does the work, and reads its answer if it is to be recorded. If the body breaks off, the work has failed. */
async function worked(
  { settings }: GuardedRequest,
  work: () => Response | Promise<Response>,
): Promise<{ readonly response: Response; readonly read?: BodyRead }> {
  const response = await work()
  if (settings.endings.ofStatus(response.status) !== 'complete') return { response }
  const { clock, largestResult: largest, resultWithinMs: withinMs } = settings
  return { response, read: await readBody(response.body, { clock, largest, withinMs }) }
}

/** Records an answer. If it is too large or too slow, the record says only that the work is done. */
async function completed(guarded: GuardedRequest, run: Run, response: Response, read: BodyRead): Promise<Response> {
  const { headers: names, keep, largestResult } = guarded.settings
  const { status, statusText } = response
  const kept = names.flatMap((name) => {
    const value = response.headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  const encoded = read.type === 'whole' ? encodeResult({ status, statusText, headers: kept, body: read.bytes }) : null
  const result = encoded && encoded.length <= largestResult ? encoded : null
  const completion = await run.complete(result, { keep })
  if (completion.type === 'completed' && !completion.result) {
    const why: NotKeptEvent['reason'] = result ? 'store' : read.type === 'whole' ? 'too-large' : read.type
    guarded.tell({ type: 'not-kept', key: run.key, request: guarded.title, status, reason: why })
  }
  const whole = read.type === 'whole' ? response.body && read.bytes : read.stitched()
  return settled(guarded, run, completion, withBody(response, whole))
}

/** What the client gets once its run has ended: its own answer, unless another run has claimed the key. */
function settled(guarded: GuardedRequest, run: Run, end: Completion | Abandonment, own: Response): Response {
  const about = { key: run.key, request: guarded.title }
  if (end.type === 'superseded') {
    const { record } = end
    void own.body?.cancel().catch(() => undefined)
    guarded.tell({ type: 'overtaken', ...about, fence: run.fence, by: record.fence })
    return record.state === 'running'
      ? guarded.problem('overtaken', overtakenRetrySeconds)
      : answerRecord(guarded, record)
  }
  if (end.type === 'unknown' || end.type === 'gone') {
    // A 503 would make the client ask again, which is dangerous now.
    const cause = end.type === 'unknown' ? end.cause : undefined
    guarded.tell({ type: 'unrecorded', ...about, outcome: end.type, cause })
    return guarded.marked(own, 'Idempotency-Recorded', end.type === 'unknown' ? end.type : 'no')
  }
  return own
}
