import { backoffMs, jitter } from '@leasehold/core/adapter'

/** The pause between attempts to connect, in milliseconds: Redis may be back soon, and there may be several bridges. */
const pauseMs = { from: 50, to: 1_000 }

/** How a bridge's connection to Redis is set up, whoever makes it; in the options of ioredis. */
export const redisSettings = {
  lazyConnect: true,
  // It would ask with INFO, which a user with few permissions may not, and write a warning. A Redis that is still loading
  // refuses checks, and the bridge tries again.
  enableReadyCheck: false,
  /** How long it may take to connect, in milliseconds. */
  connectTimeout: 5_000,
  /**
   * How long an answer may take until the connection is given up, in milliseconds: as long as the bridge waits for a check.
   * One that is dead on the way, and says nothing of it, would fail every look for as long as TCP tries.
   */
  socketTimeout: 2_000,
  // A check that was not answered is made again by the bridge, when it is still wanted.
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: (times: number): number => backoffMs(pauseMs.from, pauseMs.to, times, jitter()),
} as const
