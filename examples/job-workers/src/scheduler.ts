import { setTimeout as pause } from 'node:timers/promises'
import { type Candidate, type Leadership, lead } from '@leasehold/core/election'
import { guardedSet } from '@leasehold/core/fencing'
import type { RedisTransport } from '@leasehold/core/redis'
import type { Redis } from 'ioredis'
import type { Worker } from './work.ts'

/** The Redis key of the last tick, for the next leader. */
const lastTick = 'jobs:tick'

/** What the scheduler needs to write its ticks. */
export interface ScheduleStore {
  readonly redis: Redis
  readonly transport: RedisTransport
  readonly tickMs: number
}

/**
 * Stands for election among all workers. The leader does what is due at each tick; the next leader continues where it
 * stopped.
 */
export const schedule = (worker: Worker, store: ScheduleStore): Candidate =>
  lead(worker.locks, 'scheduler', (leadership) => tick(worker, store, leadership), {
    onEvent: ({ type }) => console.log(`scheduler: ${type}`),
  })

async function tick(
  { ledger }: Worker,
  { redis, transport, tickMs }: ScheduleStore,
  { fence, signal, assertValid }: Leadership,
): Promise<void> {
  let last = Number((await redis.get(lastTick)) ?? 0)
  while (!signal.aborted) {
    assertValid()
    // Only the leader's own fence, or a higher one, may write there. So a leader that froze cannot tick after its successor has.
    const { stored } = await guardedSet(transport, lastTick, String(last + 1), { fence })
    // If it was not stored, another worker leads. Returning would end the candidacy, so this goes on until it is told
    // to stop.
    if (stored) {
      last++
      await ledger.write(`tick ${last}`)
    }
    await pause(tickMs, undefined, { signal })
  }
}
