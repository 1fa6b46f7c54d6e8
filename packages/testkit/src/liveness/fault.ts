import type { RecordedWait } from './lock-record.ts'

/**
 * The rule that was broken.
 *
 * - `free`: the lock was free for longer than a waiter's bound, and the waiter did not get it
 * - `unasked`: the lock was free for longer than that in all, since the waiter's process last asked for it
 * - `nobody`: no caller had the lock for longer than that bound plus what the store may keep for nobody
 * - `deadline`: a call ended before or after its time
 * - `abort`: a call went on after its signal was aborted
 * - `outcome`: a call was given an answer that is not true
 */
export type LivenessRule = 'free' | 'unasked' | 'nobody' | 'deadline' | 'abort' | 'outcome'

export interface LivenessFault {
  readonly rule: LivenessRule
  readonly wait: RecordedWait
  /** When the fault began. */
  readonly atMs: number
  /** A sentence for whoever reads the failure. */
  readonly text: string
}

export const round = (ms: number): number => Math.round(ms * 10) / 10

export function fault(rule: LivenessRule, wait: RecordedWait, atMs: number, what: string): LivenessFault {
  const who = `"${wait.key}", wanted by ${wait.process} since ${round(wait.sinceMs)} ms (patience ${round(wait.patienceMs)} ms)`
  return { rule, wait, atMs, text: `${who}: ${what}, at ${round(atMs)} ms` }
}
