import type { Redis } from 'ioredis'
import type { LedgerEntry } from './ledger.ts'
import { type Records, RecordsUnavailableError, SupersededError } from './records.ts'

/**
 * `guardedSet()` of `@leasehold/core/fencing` is the guard for a plain write. Here the read has to be guarded too, and an
 * effect goes with the write, so the service has a script of its own. On a cluster the two keys would need one hash tag.
 */
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

/** Records in Redis, as hashes under `prefix`, and the ledger as a list. They are data: they have no expiry. */
export function redisRecords(redis: Redis, prefix: string): Records {
  const ledgerKey = `${prefix}ledger`
  const recordKey = (key: string): string => `${prefix}record:${key}`

  async function guarded(key: string, ...args: (string | number)[]): Promise<string | null> {
    const reply = redis.eval(guardedRecord, 2, recordKey(key), ledgerKey, ...args)
    const [word, value] = (await answerOf(reply)) as [string, string?]
    if (word === 'superseded') throw new SupersededError(key)
    return value || null
  }

  return {
    peek: (key) => answerOf(redis.hget(recordKey(key), 'value')),
    open: (key, fence) => guarded(key, fence),
    async commit(key, value, entry) {
      await guarded(key, entry.fence, value, JSON.stringify(entry))
    },
    async append(entry) {
      await answerOf(redis.rpush(ledgerKey, JSON.stringify(entry)))
    },
    async ledger() {
      const lines = await answerOf(redis.lrange(ledgerKey, 0, -1))
      return lines.map((line) => JSON.parse(line) as LedgerEntry)
    },
  }
}

async function answerOf<T>(reply: Promise<T>): Promise<T> {
  try {
    return await reply
  } catch (error) {
    throw new RecordsUnavailableError(error)
  }
}
