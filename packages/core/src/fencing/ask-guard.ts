import type { RedisTransport } from '../redis/redis-transport.ts'
import { answered, only } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { Refused, Unknown } from '../store/lease-store.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { type Clock, systemClock } from '../timing/clock.ts'
import { Span } from '../timing/span.ts'

/** Repeats a guard's request until it is answered, within the transport's command deadline. */
export async function askGuard<O extends { readonly type: string }>(
  transport: RedisTransport,
  what: string,
  key: string,
  { signal, clock = systemClock }: { readonly signal?: AbortSignal | undefined; readonly clock?: Clock | undefined },
  run: (call: CallDeadline) => Promise<readonly (O | Unknown | Refused)[]>,
): Promise<O> {
  const span = new Span()
  const withdraw = signal && span.endWith(signal)
  const asked = await ask<O | Refused>({ store: transport, clock }, Infinity, {
    span,
    send: (attempt) => attempt.follow(only(run(attempt))),
  }).finally(withdraw)
  return answered<O>(what, key, asked.outcome as O | Unknown | Refused, asked.before)
}
