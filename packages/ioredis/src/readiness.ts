import { plainError, refusalIn } from './connection-error.ts'
import type { IoredisConnection } from './ioredis-client.ts'

/**
 * Whether a command handed over now is written to the socket at once. In any other state the client would keep it in a
 * queue, and might send it long after its caller has given up.
 */
export const isReady = (connection: IoredisConnection): boolean =>
  connection.status === 'ready' && connection.stream?.writable !== false

type Callback = (refusal?: string) => void

interface Watch {
  readonly callbacks: Set<Callback>
  readonly stop: () => void
}

/** One set of listeners for any number of calls (and of stores) that wait for the same connection. */
const watches = new WeakMap<IoredisConnection, Watch>()

/** What went wrong last on a connection that somebody waited for. */
const lastErrors = new WeakMap<IoredisConnection, Error>()

/** Why a connection that is not ready is not, as far as it was seen. */
export const connectionError = (connection: IoredisConnection): Error | undefined => lastErrors.get(connection)

/** The connection is ready: what went wrong before explains nothing that comes. */
export function forgetError(connection: IoredisConnection): void {
  lastErrors.delete(connection)
}

/**
 * Resolves when the connection has become ready or has ended, or when the signal is aborted: check them to know which. If the
 * server refused to let this client in, it resolves with the server's words. A connection that was never asked to connect is
 * asked now. Nothing remains when nobody waits.
 *
 * @param home runs a task in the async context that a connection begun here belongs to
 */
export function readinessChange(
  connection: IoredisConnection,
  signal: AbortSignal,
  home: (task: () => void) => void,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const done = (refusal?: string): void => {
      unwatch(connection, done)
      signal.removeEventListener('abort', onAbort)
      resolve(refusal)
    }
    const onAbort = (): void => done()
    watch(connection, done)
    signal.addEventListener('abort', onAbort, { once: true })
    if (connection.status === 'wait') home(() => connect(connection))
  })
}

function connect(connection: IoredisConnection): void {
  // Somebody else may have been quicker. A failed try shows in the status, and the client's own settings decide whether
  // there is another.
  if (connection.status === 'wait') connection.connect().catch(() => undefined)
}

function watch(connection: IoredisConnection, callback: Callback): void {
  const entry = watches.get(connection) ?? beginWatch(connection)
  entry.callbacks.add(callback)
}

function unwatch(connection: IoredisConnection, callback: Callback): void {
  const entry = watches.get(connection)
  if (!entry?.callbacks.delete(callback) || entry.callbacks.size > 0) return
  watches.delete(connection)
  entry.stop()
}

function beginWatch(connection: IoredisConnection): Watch {
  const callbacks = new Set<Callback>()
  const tell = (refusal?: string): void => {
    for (const each of [...callbacks]) each(refusal)
  }
  const onChange = (): void => tell()
  const onError = (error: Error): void => {
    // A client without a listener for errors prints them. While this is its only one, it must print them in its place.
    // biome-ignore lint/suspicious/noConsole: in place of the client, in its words
    if (connection.listenerCount('error') === 1) console.error('[ioredis] Unhandled error event:', error.stack)
    const plain = plainError(error)
    lastErrors.set(connection, plain)
    const refusal = refusalIn(plain)
    if (refusal) tell(refusal)
  }
  connection.on('ready', onChange)
  connection.on('end', onChange)
  connection.on('error', onError)
  const stop = (): void => {
    connection.off('ready', onChange)
    connection.off('end', onChange)
    connection.off('error', onError)
  }
  const entry = { callbacks, stop }
  watches.set(connection, entry)
  return entry
}
