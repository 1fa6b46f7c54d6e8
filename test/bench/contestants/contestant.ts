/** A lock library, or a floor to compare libraries with, behind the one interface that every scenario drives. */
export interface Contestant {
  readonly name: string
  readonly role: Role
  readonly client: Client
  /** The commands it sends itself; all others that the server counts were called by its scripts. */
  readonly sends: readonly string[]
  /**
   * Connects to the Redis on that port of 127.0.0.1, and resolves when commands can be sent. A contestant that speaks HTTP
   * gets the port of a gateway in front of that Redis.
   */
  connect(port: number): Promise<Locks>
}

export type Role = 'ours' | 'other' | 'floor'

/**
 * How a contestant reaches the store. The client matters more than the lock, so libraries are ranked on the same one.
 */
export type Client = 'ioredis' | 'node-redis' | 'http' | 'memory'

/** One process's access to locks. It ends with the process. */
export interface Locks {
  /** Waits for the lock. Rejects if the library gives up. */
  acquire(key: string, ttlMs?: number): Promise<Held>
  /**
   * Tries once, and rejects if that gave no lock. Missing where a library's acquire does not retry an unanswered call.
   */
  attempt?(key: string, ttlMs: number): Promise<Held>
  /** Takes the lock and has the library renew it until it is released. Missing where a library does not renew. */
  keep?(key: string, ttlMs: number): Promise<Held>
  /** Takes the lock around no work at all. Missing where a library has no such call. */
  withLock?(key: string): Promise<unknown>
}

export interface Held {
  readonly fence?: number | null
  /** Aborts when the lease is lost; created on first access. */
  readonly signal?: AbortSignal
  release(): Promise<unknown>
}

/** Long enough that no lease ends, and none has to be renewed, within a run. */
export const ttlMs = 30_000

/** How long each waiter may wait. A library's shorter default is raised: the order of waiters is the subject. */
export const waitMs = 60_000
