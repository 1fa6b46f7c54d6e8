import type { ScriptCall, ScriptReply } from '../redis-transport.ts'

/**
 * The port of a client that keeps connections. `connectedTransport` makes a transport of it.
 *
 * A connection is the client itself, or one that a cluster client has to a node. It is an object that stays the same while the
 * client connects it anew.
 */
export interface ConnectedClient<Connection extends object> {
  /** The client itself. */
  readonly client: Connection
  /** Whether keys live on several nodes. */
  readonly cluster: boolean
  /** As `nodeOf` of `RedisTransport`. */
  nodeOf(key: string): string
  /** The connection that a call for this key is sent on; undefined if the client knows none yet and has to find out. */
  connectionFor(key: string | undefined): Connection | undefined
  /**
   * The connection that is not ready, and has to be before a call for this key would be written at once. Undefined if there is
   * none: then the call is sent.
   */
  obstacle(key: string | undefined): Connection | undefined
  /** Whether a connection has ended for good, unless its owner begins it again. */
  hasEnded(connection: Connection): boolean
  /** How a connection is at present, for an operator, such as `its status: reconnecting`. */
  describe(connection: Connection): string
  /**
   * Listens to a connection. `changed` when it may have become ready or have ended, `failed` with each error of it. Returns a
   * function that takes the listeners off.
   */
  listen(connection: Connection, changed: () => void, failed: (error: unknown) => void): () => void
  /** Begins a connection that nobody has begun yet. Leave it out where only the client's owner may. */
  begin?(connection: Connection): void
  /**
   * What stands for the connection as it is now, such as its socket: another object once it was replaced. A line that never
   * answers is found out. Undefined if nobody knows which it is.
   */
  lineOf(connection: Connection): object | undefined
  /**
   * Hands a call over, and answers once: also when nobody waits any more, because a late answer tells that the line is alive.
   * `connection` is what `connectionFor` gave.
   */
  send(call: ScriptCall, connection: Connection | undefined, answer: (reply: ScriptReply) => void): Sent | undefined
  /** Runs `send`, so that what it hands over leaves in one write. Leave it out where that is so anyway. */
  inOneWrite?(send: () => void): void
  /** What is known of why a call gets no answer, to be told to its caller. */
  said?(call: ScriptCall): string | undefined
  /** One of its connections by itself. Leave it out where replicas cannot be waited for: see `waitForReplicas`. */
  alone?(connection: Connection): LoneConnection<Connection>
}

/** One connection, past whatever its client would do to reach another server. */
export interface LoneConnection<Connection extends object> {
  /** Sends each call there and nowhere else, and follows no redirection. */
  readonly to: ConnectedClient<Connection>
  /**
   * Sends a `WAIT` behind everything that was handed over, and resolves with the number of replicas that have all of it. It may reject,
   * and must do so, or resolve with 0, if another connection has answered.
   */
  wait(replicas: number, timeoutMs: number): Promise<number>
}

/** A call that was handed over. */
export interface Sent {
  /** Nobody waits for its answer any more. Sees to it that it is not written later, and says whether it may have been. */
  withdraw(): 'no' | 'unknown'
}
