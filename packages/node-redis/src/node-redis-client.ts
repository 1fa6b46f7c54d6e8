import { InvalidOptionError } from '@leasehold/core'

/**
 * The parts that we use of a client from `createClient`, `createCluster` or `createSentinel`. They are described by
 * shape, not by class, so the user's own version fits: node-redis 4, 5 or 6, as `redis` or as `@redis/client`.
 */
export type NodeRedisClient = NodeRedisConnection | NodeRedisCluster | NodeRedisSentinel

/** A connection to a server: a plain client, or one that a cluster client has to a node. */
export interface NodeRedisConnection extends Emitter {
  /** Whether somebody has asked it to connect, and it has neither been closed nor given up. */
  readonly isOpen: boolean
  /** Whether it sends a command at once. */
  readonly isReady: boolean
  readonly options?:
    | { readonly socket?: object; readonly keyPrefix?: unknown; readonly legacyMode?: unknown }
    | undefined
  sendCommand(args: string[], options?: CommandOptions): Promise<unknown>
  duplicate(...overrides: never[]): unknown
}

export interface NodeRedisCluster extends Emitter {
  readonly isOpen: boolean
  /** The primary of each slot; empty until the cluster is known. */
  readonly slots: readonly { readonly master: NodeRedisNode }[]
  readonly masters: readonly NodeRedisNode[]
  /** Connects to a node if need be. */
  nodeClient(node: never): unknown
  /** Follows a slot that has moved. */
  sendCommand(firstKey: string, isReadonly: boolean, args: string[], options?: CommandOptions): Promise<unknown>
}

/** A node of a cluster. */
export interface NodeRedisNode {
  /** As `host:port`. */
  readonly address: string
  /** Undefined if nobody needed it yet; in node-redis 4 a promise while it connects for the first time. */
  client?: object | undefined
}

/** A Sentinel client of node-redis 5 or 6. */
export interface NodeRedisSentinel extends Emitter {
  readonly isOpen: boolean
  readonly isReady: boolean
  getMasterNode(): unknown
  sendCommand(isReadonly: boolean, args: string[], options?: CommandOptions): Promise<unknown>
  /** Lends the connection to the primary. There is no other way to make one like it. */
  _execute(isReadonly: boolean, use: (primary: object) => Promise<unknown>): Promise<unknown>
}

interface Emitter {
  on(event: string | symbol, listener: (error: Error) => void): unknown
  off(event: string | symbol, listener: (error: Error) => void): unknown
  listenerCount(event: 'error'): number
}

/** The options of one command, of any version. */
export type CommandOptions = object

export const isCluster = (client: NodeRedisClient): client is NodeRedisCluster => 'nodeClient' in client

export const isSentinel = (client: NodeRedisClient): client is NodeRedisSentinel => 'getMasterNode' in client

/** @throws InvalidOptionError for anything that is not such a client, and for one whose commands mean something else */
export function checkClient(client: NodeRedisClient): void {
  const shape = Object(client) as Partial<NodeRedisConnection & NodeRedisCluster> & { readonly _keyPrefix?: unknown }
  if (typeof shape.sendCommand !== 'function' || typeof shape.isOpen !== 'boolean' || 'totalClients' in shape) {
    throw new InvalidOptionError(
      'client',
      'must be what createClient, createCluster or createSentinel of node-redis returns',
    )
  }
  if (shape.options?.legacyMode) throw new InvalidOptionError('client', 'is in legacy mode; make one that is not')
  // Only a plain client exposes its options.
  if (shape.options?.keyPrefix || shape._keyPrefix) {
    throw new InvalidOptionError(
      'client',
      'has a keyPrefix, which does not apply to the keys and channels of locks; use the "prefix" option of the store',
    )
  }
}
