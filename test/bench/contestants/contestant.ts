/** A lock library, or a floor to compare them with, behind the one face that every scenario drives. */
export interface Contestant {
  readonly name: string
  readonly role: Role
  /** The commands it sends itself; whatever else the server counts was called by its scripts. */
  readonly sends: readonly string[]
  /** Connects to the Redis on that port of 127.0.0.1, and resolves when commands can be sent. */
  connect(port: number): Promise<Locks>
}

export type Role = 'ours' | 'other' | 'floor'

/** One process's access to locks. It ends with the process. */
export interface Locks {
  /** Waits for the lock. Rejects if the library gives up. */
  acquire(key: string): Promise<Held>
}

export interface Held {
  readonly fence?: number | null
  release(): Promise<unknown>
}

/** Long enough that no lease ends, and none has to be renewed, within a run. */
export const ttlMs = 30_000

/** How long each waiter may wait. Where a library's own default is less it is raised: the order of waiters is the subject. */
export const waitMs = 60_000
