import { type Answer, failed } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { ReleaseOutcome, Unknown } from '../store/lease-store.ts'
import type { Quiet } from '../store/question.ts'
import type { LeaveRequest } from '../store/queue.ts'
import { deadline, sleep } from '../timing/deadline.ts'
import { leaveForMs } from './figures.ts'
import type { QueuedContext } from './queued-context.ts'

/**
 * Leaves a queue, and gives back what the waiter's tries may have taken. A leave that finds nothing may have overtaken
 * a try, so it is sent once more later.
 */
export async function leaveQueue(context: QueuedContext, request: LeaveRequest, quiet: Quiet): Promise<void> {
  const { outcome } = await leaveOnce(context, request, quiet)
  if (outcome.type !== 'gone') return
  await sleep(context.clock, context.store.commandDeadlineMs)
  await leaveOnce(context, request, quiet)
}

/** Leaves a queue. It never rejects, because nobody waits for it. */
export const leaveOnce = (
  context: QueuedContext,
  request: LeaveRequest,
  quiet?: Quiet,
): Promise<Answer<ReleaseOutcome | Unknown>> =>
  ask<ReleaseOutcome>(context, Infinity, {
    quiet,
    leftMs: deadline(context.clock, leaveForMs),
    send: (attempt) => context.leave(request, attempt),
  }).catch(failed(context))
