import type { CallDeadline } from '@leasehold/core/adapter'
import { plainError, refusalIn } from './connection-error.ts'
import type { IoredisConnection } from './ioredis-client.ts'

/**
 * Whether the client writes a command to the socket at once. In any other state it would queue the command, and might send it
 * long after the caller has given up.
 */
export const isReady = (connection: IoredisConnection): boolean =>
  connection.status === 'ready' && connection.stream?.writable !== false

type Callback = (refusal?: string) => void

interface Watch {
  readonly callbacks: Set<Callback>
  readonly stop: () => void
}

/** All calls (and stores) that wait for the same connection share one set of listeners. */
const watches = new WeakMap<IoredisConnection, Watch>()

/** The last error of each connection that somebody waited for. */
const lastErrors = new WeakMap<IoredisConnection, Error>()

/** Why a connection is not ready, if an error was seen. */
export const connectionError = (connection: IoredisConnection): Error | undefined => lastErrors.get(connection)

/** The connection is ready: earlier errors no longer explain anything. */
export function forgetError(connection: IoredisConnection): void {
  lastErrors.delete(connection)
}

/**
 * Resolves when the connection becomes ready or ends, or when the deadline is over; the caller checks which it was. If the
 * server refuses to let this client in, it resolves with the server's words. It asks a connection to connect that was never
 * asked before. When nobody waits, no listener remains.
 *
 * @param home runs a task in the async context that a connection begun here belongs to
 */
export function readinessChange(
  connection: IoredisConnection,
  deadline: CallDeadline,
  home: (task: () => void) => void,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const done = (refusal?: string): void => {
      unwatch(connection, done)
      withdraw?.()
      resolve(refusal)
    }
    watch(connection, done)
    const withdraw = deadline.onOver(done)
    if (connection.status === 'wait') home(() => connect(connection))
  })
}

function connect(connection: IoredisConnection): void {
  // Somebody else may have been quicker. A failed attempt shows in the status; the client's settings decide whether it tries
  // again.
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
    // A client without a listener for errors prints them. If ours is the only one, we print them instead.
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
