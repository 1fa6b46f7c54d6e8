/** The parts of redlock 5 that the tests use: its `exports` hide the declarations it ships. */
declare module 'redlock' {
  interface Lock {
    release(): Promise<unknown>
    extend(durationMs: number): Promise<Lock>
  }
  // biome-ignore lint/style/noDefaultExport: that is how the package is
  export default class Redlock {
    constructor(clients: readonly object[], settings?: { retryCount?: number; retryDelay?: number })
    using<T>(keys: readonly string[], durationMs: number, routine: (signal: AbortSignal) => Promise<T>): Promise<T>
    acquire(keys: readonly string[], durationMs: number): Promise<Lock>
    quit(): Promise<void>
  }
}
