/** The used part of what the platform gives a Durable Object. */
export interface ObjectContext {
  readonly storage: ObjectStorage
  /** Lets nothing else run until the promise has settled. */
  blockConcurrencyWhile<T>(task: () => Promise<T>): Promise<T>
}

export interface ObjectStorage {
  readonly sql: Sql
  setAlarm(atMs: number): Promise<void>
  deleteAlarm(): Promise<void>
}

/** The object's SQLite database. Calls are synchronous, because the database runs in the process of its object. */
export interface Sql {
  exec(query: string, ...values: readonly SqlValue[]): { toArray(): Record<string, SqlValue>[] }
}

export type SqlValue = string | number | null
