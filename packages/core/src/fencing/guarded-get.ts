import { recordBeside } from '../redis/keys.ts'
import type { RedisTransport } from '../redis/redis-transport.ts'
import { runScript } from '../redis/run-script.ts'
import { checkKey } from '../store/key.ts'
import { parseDuration } from '../timing/duration.ts'
import { askGuard } from './ask-guard.ts'
import { checkFence } from './fence.ts'
import { guardedGet as script } from './generated/guarded-get.ts'
import { type GuardedRead, guardedReadOutcome } from './guard-reply.ts'
import type { GuardedWriteOptions } from './guarded-set.ts'

/** `value` is null if there is no data. `highest` is the fence that was seen before: a later holder is at work. */
export type GuardedGetOutcome =
  | { readonly read: true; readonly value: string | null }
  | { readonly read: false; readonly highest: number }

/**
 * Reads what `guardedSet` writes, and refuses every lower fence from then on, in one atomic step. So no former holder
 * of the lock can change the data behind the reader's back. Use it instead of `GET` to read data that the holder is
 * about to change.
 *
 * ```ts
 * const stock = await guardedGet(transport, 'stock:42', { fence: lease.fence })
 * if (stock.read) await guardedSet(transport, 'stock:42', String(Number(stock.value) - 1), { fence: lease.fence })
 * ```
 *
 * @throws what `guardedSet` throws
 */
export async function guardedGet(
  transport: RedisTransport,
  key: string,
  { fence, fenceMemory = '10m', signal, clock }: GuardedWriteOptions,
): Promise<GuardedGetOutcome> {
  checkKey(key)
  checkFence(fence)
  const memory = String(parseDuration('fenceMemory', fenceMemory))
  const each: [...keys: [string, string], fence: string] = [key, recordBeside(key, 'guard'), String(fence)]
  const outcome = await askGuard<GuardedRead>(transport, 'the guarded read', key, { signal, clock }, (call) =>
    runScript(transport, script, [memory], 2, [each], (request) => request, guardedReadOutcome, call),
  )
  return outcome.type === 'read' ? { read: true, value: outcome.value } : { read: false, highest: outcome.highest }
}
