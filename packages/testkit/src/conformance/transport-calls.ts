import type { RedisTransport, ScriptCall, ScriptReply } from '@leasehold/core/redis'
import { callUntil } from '../call-until.ts'

/** A key that no other run uses. Every script of the suite gets one, to tell a cluster client where to send it. */
export const freshKey = (): string => `{leasehold-conformance-${crypto.randomUUID()}}:key`

export const script = (body: string, args: readonly string[] = [], key: string = freshKey()): ScriptCall => ({
  command: 'EVAL',
  body,
  keys: [key],
  args,
})

/** A signal that is never aborted. */
export const patient = (): AbortSignal => new AbortController().signal

/** Runs one script and returns its one reply. */
export async function evaluate(
  transport: RedisTransport,
  body: string,
  args?: readonly string[],
): Promise<ScriptReply> {
  const replies = await transport.run([script(body, args)], callUntil(patient()))
  if (replies.length !== 1) throw new Error(`One call was answered by ${replies.length} replies`)
  return replies[0] as ScriptReply
}

/** The reply for a script's value, for comparing in one line. */
export const value = (expected: unknown): ScriptReply => ({
  type: 'value',
  value: expected,
  resent: false,
})
