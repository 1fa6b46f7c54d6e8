import { Call } from '@leasehold/core/adapter'
import type { RedisTransport } from '@leasehold/core/redis'

/**
 * What the locks guard: one record per key, and a list of everything that was done.
 *
 * A holder may be paused after its last check of the clock, and go on when its lease is long over. So a record is read
 * and written under the fence of the hold, and remembers the highest it has seen. Reading counts: if only writes were
 * checked, a late write of the holder before could still slip in between the present holder's read and its write.
 */
export interface Records {
  /** A check from outside, for answers that need no lock. It may be out of date by the time it is read. */
  peek(key: string): Promise<string | null>
  /**
   * Reads as the holder with this fence; from here on nothing is written under a lower one.
   *
   * @throws SupersededError if a later holder has been here · RecordsUnavailableError
   */
  open(key: string, fence: number): Promise<string | null>
  /**
   * Writes the record and notes its effect, both or none. Repeating a commit (the same fence and value) does nothing.
   *
   * @throws SupersededError if a later holder has been here: nothing was written · RecordsUnavailableError
   */
  commit(key: string, value: string, effect: Effect): Promise<void>
}

/** What was done, by a name that should appear once (`charge:o-17`), by whom, and under which hold. */
export interface Effect {
  readonly effect: string
  readonly server: string
  readonly key: string
  readonly fence: number
}

/** A later holder of the lock has been at the record. What this one wanted to write was not written. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError'
}

/** No answer. What was asked may have been done. */
export class RecordsUnavailableError extends Error {
  override readonly name = 'RecordsUnavailableError'
}

const check = `return redis.call('HGET', KEYS[1], 'value')`

const guardedRecord = `
-- Opens a record as the holder of a fence; with a value, also writes that and appends its effect to the ledger.
-- KEYS  the record: a hash of the highest fence seen and the value · the ledger: a list
-- ARGV  the fence · to write: the value, the ledger's entry
-- Returns {"superseded"} if a higher fence has been seen, else {"open", value or ""}
local seen = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
if tonumber(ARGV[1]) < seen then return {'superseded'} end
redis.call('HSET', KEYS[1], 'fence', ARGV[1])
local value = redis.call('HGET', KEYS[1], 'value') or ''
if ARGV[2] and ARGV[2] ~= value then
  redis.call('HSET', KEYS[1], 'value', ARGV[2])
  redis.call('RPUSH', KEYS[2], ARGV[3])
end
return {'open', value}
`

/**
 * Records in the Redis of the locks, over the same transport, be that TCP or HTTP: a transport runs scripts, and a guarded
 * record needs nothing else. They are data, and have no expiry. On a cluster the two keys would need one hash tag.
 */
export function redisRecords(transport: RedisTransport, prefix: string): Records {
  const nameOf = (key: string): string => `${prefix}record:${key}`
  const ledger = `${prefix}ledger`

  async function run(body: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const [reply] = await transport.run([{ command: 'EVAL', body, keys, args }], new Call(transport.commandDeadlineMs))
    if (reply?.type === 'value') return reply.value
    throw new RecordsUnavailableError('The database did not answer', { cause: reply })
  }
  async function guarded(key: string, ...args: readonly string[]): Promise<string | null> {
    const [word, value] = (await run(guardedRecord, [nameOf(key), ledger], args)) as [string, string?]
    if (word === 'superseded') throw new SupersededError(`A later holder of the lock has taken over "${key}"`)
    return value || null
  }

  return {
    peek: async (key) => (await run(check, [nameOf(key)], [])) as string | null,
    open: (key, fence) => guarded(key, String(fence)),
    async commit(key, value, effect) {
      await guarded(key, String(effect.fence), value, JSON.stringify({ type: 'effect', ...effect }))
    },
  }
}
