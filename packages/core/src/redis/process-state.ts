import type { RedisTransport } from './redis-transport.ts'

/*
 * What a process must have once. One that imports this package in one place and requires it in another runs both of its
 * builds; on servers `#process-state` is the same file for both.
 */

/**
 * Transports to what looks like a single server and is a node of a cluster: a plain client on a managed Redis, or HTTP,
 * where nobody knows. One refused a command over two slots once, and would refuse the next.
 */
export const splitTransports: WeakSet<RedisTransport> = new WeakSet()

/** Orders the guarded writes of this process among those with one fence. */
export const guardedWrites: {
  /** Who writes. Drawn by the first write: Workers forbid randomness at module scope. */
  writer?: string
  turns: number
} = { turns: 0 }
