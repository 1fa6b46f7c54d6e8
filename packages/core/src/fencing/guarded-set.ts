import { guardedWrites } from '#process-state'
import { InvalidOptionError } from '../errors.ts'
import { recordBeside } from '../redis/keys.ts'
import type { RedisTransport } from '../redis/redis-transport.ts'
import { runScript } from '../redis/run-script.ts'
import { checkKey } from '../store/key.ts'
import { drawAcquisitionId } from '../store/token.ts'
import type { Clock } from '../timing/clock.ts'
import { type Duration, parseDuration } from '../timing/duration.ts'
import { askGuard } from './ask-guard.ts'
import { checkFence } from './fence.ts'
import { guardedSet as script } from './generated/guarded-set.ts'
import { type GuardOutcome, guardOutcome } from './guard-reply.ts'

/** What a guarded write needs to know about its writer. */
export interface GuardedWriteOptions {
  /** The fence of the lease that allows the write: `lease.fence`. */
  readonly fence: number
  /**
   * How long, at least, the guard remembers the highest fence after a delete or a write of data that expires; default
   * 10 minutes. A holder that comes later than that and finds the data gone is let through.
   */
  readonly fenceMemory?: Duration | undefined
  /** Stops waiting for the answer: the call rejects with the signal's own reason, and the write may have happened. */
  readonly signal?: AbortSignal | undefined
  /** Where time comes from; default: the runtime's clock. */
  readonly clock?: Clock | undefined
}

export interface GuardedSetOptions extends GuardedWriteOptions {
  /** How long Redis keeps the data; default forever. */
  readonly ttl?: Duration | undefined
}

/**
 * `highest` is the fence that has written: a later holder is at work, and this one should stop. If the first answer to
 * a write was lost, the write may have been stored at first and overwritten since.
 */
export type GuardedSetOutcome = { readonly stored: true } | { readonly stored: false; readonly highest: number }

export type GuardedDeleteOutcome = { readonly deleted: true } | { readonly deleted: false; readonly highest: number }

/**
 * Writes a string to Redis unless a holder with a higher fence has written there before, in one atomic step. So a
 * holder that was paused and comes too late cannot undo what its successor wrote. An equal fence is accepted.
 *
 * The data is a plain string under `key` itself; read it with `GET`. The highest fence is kept beside it, in the same
 * cluster slot, under `{key}:guard` (`{42}:stock:{42}:guard` for a key with a hash tag). That record lasts at least as
 * long as the data: for data without a `ttl` it is kept forever, otherwise for the longer of `ttl` and `fenceMemory`.
 * The guard knows only what goes through it. A plain `SET` or `DEL` bypasses it, and a record that Redis evicts or
 * loses in a failover is forgotten.
 *
 * Settles within the transport's command deadline. A request without an answer is repeated, which is safe: a copy that
 * arrives late, of this call or of an earlier one, does not undo a later write of the same process.
 *
 * ```ts
 * const outcome = await guardedSet(transport, 'stock:42', '7', { fence: lease.fence })
 * if (!outcome.stored) throw new Error(`fenced out by ${outcome.highest}`)
 * ```
 *
 * @throws InvalidOptionError for a bad argument, before anything is sent
 * @throws StoreUnavailableError if no answer came; `executed` is `'unknown'` if the write may still happen
 * @throws LeaseholdError with code `KIND_MISMATCH` if the key holds anything but a string, or its record is not a
 *   guard's
 */
export async function guardedSet(
  transport: RedisTransport,
  key: string,
  value: string,
  options: GuardedSetOptions,
): Promise<GuardedSetOutcome> {
  if (typeof value !== 'string') throw new InvalidOptionError('value', 'must be a string')
  const ttlMs = options.ttl === undefined ? keptForEver : parseDuration('ttl', options.ttl)
  const highest = await write(transport, key, value, ttlMs, options)
  return highest === null ? { stored: true } : { stored: false, highest }
}

/**
 * Deletes what {@link guardedSet} wrote, by the same rule. The guard remembers the fence for `fenceMemory`; after that
 * nothing is left. Resolves with `deleted: true` even if there was nothing to delete.
 *
 * @throws what `guardedSet` throws
 */
export async function guardedDelete(
  transport: RedisTransport,
  key: string,
  options: GuardedWriteOptions,
): Promise<GuardedDeleteOutcome> {
  const highest = await write(transport, key, '', expiredAtOnce, options)
  return highest === null ? { deleted: true } : { deleted: false, highest }
}

/** The script's two special values of `ttl`. */
const keptForEver = -1
const expiredAtOnce = 0

/** Resolves with null, or with the higher fence that has written. */
async function write(
  transport: RedisTransport,
  key: string,
  value: string,
  ttlMs: number,
  { fence, fenceMemory = '10m', signal, clock }: GuardedWriteOptions,
): Promise<number | null> {
  checkKey(key)
  checkFence(fence)
  const record = recordBeside(key, 'guard')
  const memoryMs = parseDuration('fenceMemory', fenceMemory)
  guardedWrites.writer ??= drawAcquisitionId()
  const args: [string, string] = [String(memoryMs), guardedWrites.writer]
  const turn = String(++guardedWrites.turns)
  const each: [...keys: [string, string], ...args: [string, string, string, string]] = [
    key,
    record,
    String(fence),
    turn,
    value,
    String(ttlMs),
  ]

  const outcome = await askGuard<GuardOutcome>(transport, 'the guarded write', key, { signal, clock }, (call) =>
    runScript(transport, script, args, 2, [each], (request) => request, guardOutcome, call),
  )
  return outcome.type === 'fenced' ? outcome.highest : null
}
