import type { Context } from '../context.ts'
import { type Answer, failed } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { Unknown } from '../store/lease-store.ts'
import type { Quiet } from '../store/question.ts'
import type { LeaveOutcome, LeaveRequest, QueueStore } from '../store/queue.ts'
import { deadline, sleep } from '../timing/deadline.ts'
import { leaveForMs } from './figures.ts'

/**
 * Leaves a queue, and gives back what the waiter's tries may have taken. A leave that finds nothing may have overtaken a try, so it
 * is sent once more, later.
 */
export async function leaveQueue(
  context: Context,
  port: QueueStore,
  request: LeaveRequest,
  quiet: Quiet,
): Promise<void> {
  const { outcome } = await leaveOnce(context, port, request, quiet)
  if (outcome.type !== 'absent') return
  await sleep(context.clock, context.store.commandDeadlineMs)
  await leaveOnce(context, port, request, quiet)
}

/** Leaves a queue. It never rejects, because nobody waits for it. */
export const leaveOnce = (
  context: Context,
  port: QueueStore,
  request: LeaveRequest,
  quiet?: Quiet,
): Promise<Answer<LeaveOutcome | Unknown>> =>
  ask<LeaveOutcome>(context, Infinity, {
    quiet,
    leftMs: deadline(context.clock, leaveForMs),
    send: (attempt) => attempt.follow(port.leave(request, attempt)),
  }).catch(failed(context))
