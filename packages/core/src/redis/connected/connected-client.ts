import type { ScriptCall, ScriptReply } from '../redis-transport.ts'

/**
 * The port for a client that keeps connections. `connectedTransport` turns it into a transport.
 *
 * A connection is the client itself, or a cluster client's connection to one node. It is an object that stays the same
 * when the client reconnects it.
 */
export interface ConnectedClient<Connection extends object> {
  /** The client itself. */
  readonly client: Connection
  /** Whether keys live on several nodes. */
  readonly cluster: boolean
  /** As `nodeOf` of `RedisTransport`. */
  nodeOf(key: string): string
  /** The connection that a call for this key is sent on; undefined if the client has yet to find that out. */
  connectionFor(key: string | undefined): Connection | undefined
  /**
   * The connection that is not ready but must be before a call for this key would be written at once. Undefined if
   * there is none: the call is then sent.
   */
  obstacle(key: string | undefined): Connection | undefined
  /** Whether a connection has ended and stays so unless its owner begins it again. */
  hasEnded(connection: Connection): boolean
  /** Describes the connection's present state for an operator, such as `its status: reconnecting`. */
  describe(connection: Connection): string
  /**
   * Listens to a connection. Calls `changed` when it may have become ready or ended, and `failed` with each of its
   * errors. Returns a function that removes the listeners.
   */
  listen(connection: Connection, changed: () => void, failed: (error: unknown) => void): () => void
  /** Begins a connection that nobody has begun yet. Leave it out if only the client's owner may do that. */
  begin?(connection: Connection): void
  /**
   * An object that stands for the connection as it is now, such as its socket; once that is replaced, another object.
   * It serves to detect a line that never answers. Undefined if it is not known.
   */
  lineOf(connection: Connection): object | undefined
  /**
   * Hands a call over, and calls `answer` once, even if nobody waits anymore: a late answer shows that the line is
   * alive. `connection` is what `connectionFor` returned.
   */
  send(call: ScriptCall, connection: Connection | undefined, answer: (reply: ScriptReply) => void): Sent | undefined
  /** Runs `send` so that everything it hands over leaves in one write. Leave it out if the client does that anyway. */
  inOneWrite?(send: () => void): void
  /**
   * Runs `send` once everything that was handed over before has been written. Leave it out if the client writes each
   * call at once.
   */
  readonly inNextWrite?: ((send: () => void) => void) | undefined
  /** What is known about why a call gets no answer. Its caller sees this. */
  said?(call: ScriptCall): string | undefined
  /**
   * One of the client's connections by itself. Leave it out if replicas cannot be waited for: see `waitForReplicas`.
   */
  alone?(connection: Connection): LoneConnection<Connection>
}

/** One connection, bypassing whatever its client would do to reach another server. */
export interface LoneConnection<Connection extends object> {
  /** Sends each call over this connection alone, and follows no redirection. */
  readonly to: ConnectedClient<Connection>
  /**
   * Sends a `WAIT` after everything that was handed over, and resolves with the number of replicas that have all of it.
   * It may reject. It must reject or resolve with 0 if another connection has answered.
   */
  wait(replicas: number, timeoutMs: number): Promise<number>
}

/** A call that was handed over. */
export interface Sent {
  /**
   * Nobody waits for the answer anymore. Makes sure the call is not written later; returns whether it may have been.
   */
  withdraw(): 'no' | 'unknown'
}
