import type { CallDeadline } from '../../timing/call-deadline.ts'
import { plainError, refusalIn } from './client-error.ts'
import type { ConnectedClient } from './connected-client.ts'

type Callback = (refusal?: string) => void

interface Watch {
  readonly callbacks: Set<Callback>
  stop(): void
}

/** One set of listeners per connection, shared by all calls (and stores) that wait for it. */
const watches = new WeakMap<object, Watch>()

/** The last error of each connection that somebody waited for. */
const lastErrors = new WeakMap<object, Error>()

/** The last error of a connection, which tells why it is not ready, if one was seen. */
export const connectionError = (connection: object): Error | undefined => lastErrors.get(connection)

/** The connection is ready: earlier errors no longer explain anything. */
export function forgetError(connection: object): void {
  lastErrors.delete(connection)
}

/**
 * Resolves when the connection becomes ready or ends, or when the deadline is over; the caller checks which. If the
 * server refuses to let this client in, it resolves with the server's words. Begins a connection that nobody has begun.
 * When nobody waits, no listener remains.
 *
 * @param home runs a task in the async context that a connection begun here belongs to
 */
export function readinessChange<C extends object>(
  client: ConnectedClient<C>,
  connection: C,
  deadline: CallDeadline,
  home: (task: () => void) => void,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const done = (refusal?: string): void => {
      unwatch(connection, done)
      withdraw?.()
      resolve(refusal)
    }
    watch(client, connection, done)
    const withdraw = deadline.onOver(done)
    const { begin } = client
    if (begin) home(() => begin(connection))
  })
}

function watch<C extends object>(client: ConnectedClient<C>, connection: C, callback: Callback): void {
  const entry = watches.get(connection) ?? beginWatch(client, connection)
  entry.callbacks.add(callback)
}

function unwatch(connection: object, callback: Callback): void {
  const entry = watches.get(connection)
  if (!entry?.callbacks.delete(callback) || entry.callbacks.size > 0) return
  watches.delete(connection)
  entry.stop()
}

function beginWatch<C extends object>(client: ConnectedClient<C>, connection: C): Watch {
  const callbacks = new Set<Callback>()
  const tell = (refusal?: string): void => {
    for (const each of [...callbacks]) each(refusal)
  }
  const stop = client.listen(
    connection,
    () => tell(),
    (error) => {
      const plain = plainError(error)
      lastErrors.set(connection, plain)
      const refusal = refusalIn(plain)
      if (refusal) tell(refusal)
    },
  )
  const entry = { callbacks, stop }
  watches.set(connection, entry)
  return entry
}
