import { isLeaseOf, requestSpan, type Scene, slackMs } from './bound.ts'
import { fault, type LivenessFault, round } from './fault.ts'
import { touches } from './lock-timeline.ts'

/** The faults in how the call ended. */
export function misled(scene: Scene, endMs: number): readonly LivenessFault[] {
  const { wait, span, commandDeadlineMs } = scene
  const { end, abortedAtMs, endedAtMs, sinceMs, waitMs } = wait
  const faults: LivenessFault[] = []
  const dueMs = sinceMs + (waitMs || commandDeadlineMs)
  if (span.toMs > dueMs + slackMs) {
    faults.push(fault('deadline', wait, dueMs, endedAtMs === undefined ? 'it has not ended' : 'it ended late'))
  }
  const early = waitMs > 0 && (end === 'busy' || end === 'unavailable') && span.toMs < dueMs - slackMs
  if (early) faults.push(fault('deadline', wait, span.toMs, `it gave up ${round(dueMs - span.toMs)} ms early`))
  if (abortedAtMs !== undefined && abortedAtMs < (endedAtMs ?? endMs)) {
    faults.push(fault('abort', wait, abortedAtMs, 'it went on after it was aborted'))
  }
  const lie = untrue(scene)
  if (lie) faults.push(fault('outcome', wait, span.toMs, lie))
  return faults
}

/** The answer that the call was given, if it is not true. */
function untrue({ wait, waits, span, entries, requests }: Scene): string | undefined {
  const { end, fence, waitMs } = wait
  if (end === 'failed') return 'it failed'
  if (end === 'busy' && waitMs === 0 && !entries.some((entry) => touches(entry, span))) return 'busy, and it was free'
  if (end === 'unavailable') {
    const silence = requests.some((each) => {
      const request = requestSpan(each)
      return touches(span, request) && (!each.answered || request.toMs > span.toMs)
    })
    return silence ? undefined : 'unavailable, and each request was answered'
  }
  if (end !== 'granted' || typeof fence !== 'number') return undefined
  const entry = entries.find((each) => isLeaseOf(wait, each))
  if (!entry) return 'granted, and the store knows of no such grant'
  if (entry.toMs < span.toMs && entry.freedBy !== 'revoked') return `granted when that grant had ${entry.freedBy}`
  const twice = waits.some((other) => other !== wait && other.end === 'granted' && other.fence === fence)
  return twice ? 'granted with the fence of another' : undefined
}
