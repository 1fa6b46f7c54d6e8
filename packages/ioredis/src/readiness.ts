import type { IoredisConnection } from './ioredis-client.ts'

/**
 * Whether a command handed over now is written to the socket at once. In any other state the client would keep it in a
 * queue, and might send it long after its caller has given up.
 */
export const isReady = (connection: IoredisConnection): boolean =>
  connection.status === 'ready' && connection.stream?.writable !== false

interface Watch {
  readonly callbacks: Set<() => void>
  readonly onChange: () => void
}

/** One pair of listeners for any number of calls (and of stores) that wait for the same connection. */
const watches = new WeakMap<IoredisConnection, Watch>()

/**
 * Resolves when the connection has become ready or has ended, or when the signal is aborted; look at them to know which.
 * A connection that was never asked to connect is asked now. Nothing remains when nobody waits.
 */
export function readinessChange(connection: IoredisConnection, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      unwatch(connection, done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    watch(connection, done)
    signal.addEventListener('abort', done, { once: true })
    // A failed try shows in the status, and whether there is another one is up to the client's own settings.
    if (connection.status === 'wait') connection.connect().catch(() => undefined)
  })
}

function watch(connection: IoredisConnection, callback: () => void): void {
  let entry = watches.get(connection)
  if (!entry) {
    const callbacks = new Set<() => void>()
    const onChange = (): void => {
      for (const each of [...callbacks]) each()
    }
    entry = { callbacks, onChange }
    watches.set(connection, entry)
    connection.on('ready', onChange)
    connection.on('end', onChange)
  }
  entry.callbacks.add(callback)
}

function unwatch(connection: IoredisConnection, callback: () => void): void {
  const entry = watches.get(connection)
  if (!entry?.callbacks.delete(callback) || entry.callbacks.size > 0) return
  watches.delete(connection)
  connection.off('ready', entry.onChange)
  connection.off('end', entry.onChange)
}
