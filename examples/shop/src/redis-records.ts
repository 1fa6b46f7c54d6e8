import { Call } from '@leasehold/core/adapter'
import type { RedisTransport } from '@leasehold/core/redis'
import { type Ledger, type LedgerEntry, type Records, RecordsUnavailableError, SupersededError } from './records.ts'

/**
 * `guardedSet()` of `@leasehold/core/fencing` guards a plain write. Here the read needs the guard, too, and the effect
 * is written with the record, so the shop has its own script. On a cluster, the two keys would need one hash tag.
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

/** Records as hashes under `prefix`, in the Redis of the locks and over the same transport. They are data: none expires. */
export function redisRecords(transport: RedisTransport, prefix: string): Records {
  const run = scriptsOver(transport)
  const nameOf = (key: string): string => `${prefix}record:${key}`

  async function guarded(key: string, ...args: readonly string[]): Promise<string | null> {
    const [word, value] = (await run(guardedRecord, [nameOf(key), ledgerKey(prefix)], args)) as [string, string?]
    if (word === 'superseded') throw new SupersededError(key)
    return value || null
  }

  return {
    peek: async (key) => (await run(`return redis.call('HGET', KEYS[1], 'value')`, [nameOf(key)])) as string | null,
    open: (key, fence) => guarded(key, String(fence)),
    async commit(key, value, effect) {
      await guarded(key, String(effect.fence), value, JSON.stringify({ type: 'effect', ...effect }))
    },
  }
}

/** The ledger of the records under the same prefix, as a list. */
export function redisLedger(transport: RedisTransport, prefix: string): Ledger {
  const run = scriptsOver(transport)
  return {
    async append(entry) {
      await run(`return redis.call('RPUSH', KEYS[1], ARGV[1])`, [ledgerKey(prefix)], [JSON.stringify(entry)])
    },
    async entries() {
      const lines = await run(`return redis.call('LRANGE', KEYS[1], 0, -1)`, [ledgerKey(prefix)])
      return (lines as readonly string[]).map((line) => JSON.parse(line) as LedgerEntry)
    },
  }
}

const ledgerKey = (prefix: string): string => `${prefix}ledger`

/** Runs scripts over a transport, whether TCP or HTTP. A transport has no timeout: its caller ends the call. */
function scriptsOver(transport: RedisTransport) {
  return async (body: string, keys: readonly string[], args: readonly string[] = []): Promise<unknown> => {
    const call = new Call(transport.commandDeadlineMs)
    const timer = setTimeout(() => call.end(), call.withinMs)
    try {
      const [reply] = await transport.run([{ command: 'EVAL', body, keys, args }], call)
      if (reply?.type === 'value') return reply.value
      throw new RecordsUnavailableError('The database did not answer', { cause: reply })
    } finally {
      clearTimeout(timer)
    }
  }
}
