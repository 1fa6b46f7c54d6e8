import { backoffMs, jitter } from '@leasehold/core/adapter'

/** The pause between attempts to connect, in milliseconds: Redis may be back soon, and bridges are few. */
const pauseMs = { from: 50, to: 1_000 }

/** The ioredis options of every connection of a bridge. */
export const redisSettings = {
  lazyConnect: true,
  // The ready check sends INFO, which a user with few permissions may not use, and ioredis then writes a warning. A
  // Redis that is still loading refuses checks, and the bridge tries again.
  enableReadyCheck: false,
  /** How long it may take to connect, in milliseconds. */
  connectTimeout: 5_000,
  /**
   * How long an answer may take before the connection is dropped, in milliseconds: as long as the bridge waits for a
   * check. Otherwise every check on a connection that died silently would fail, for as long as TCP keeps trying.
   */
  socketTimeout: 2_000,
  // The bridge itself repeats an unanswered check, if somebody still needs it.
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: (times: number): number => backoffMs(pauseMs.from, pauseMs.to, times, jitter()),
} as const
