import { Call } from '@leasehold/core/adapter'
import type { RedisTransport } from '@leasehold/core/redis'
import type { Locks } from '@leasehold/example-hono-api/locks'

interface Audit {
  readonly transport: RedisTransport
  /** The list to append to. */
  readonly ledger: string
  readonly server: string
}

/** Writes to the ledger when a lock's work begins and when it ends, both while the lock is held. */
export function auditedLocks(locks: Locks, { transport, ledger, server }: Audit): Locks {
  async function append(entry: object): Promise<void> {
    const push = {
      command: 'EVAL',
      body: `return redis.call('RPUSH', KEYS[1], ARGV[1])`,
      keys: [ledger],
      args: [JSON.stringify(entry)],
    } as const
    const [reply] = await transport.run([push], new Call(transport.commandDeadlineMs))
    // Whether it was written is not known, so this run proves nothing any more: let it be seen.
    if (reply?.type !== 'value') throw new Error('The ledger did not answer')
  }
  return {
    withLock: (key, options, work) =>
      locks.withLock(key, options, async (hold) => {
        const note = (type: 'enter' | 'leave'): Promise<void> => append({ type, server, key, fence: hold.fence })
        await note('enter')
        try {
          return await work(hold)
        } finally {
          await note('leave')
        }
      }),
  }
}
