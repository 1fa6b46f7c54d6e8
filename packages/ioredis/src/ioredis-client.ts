import { InvalidOptionError } from '@leasehold/core'

/**
 * The parts of a client that we use. They are described by shape, not by class, so the user's own version fits: ioredis
 * 5 or 6, iovalkey, or a client compatible with them.
 */
export interface IoredisClient extends IoredisConnection {
  /** Makes a command that is sent at once. With automatic pipelining, `call` may wait for an earlier pipeline to end. */
  createBuiltinCommand(name: string): {
    /** Its reply has strings as text. */
    readonly string: IoredisCommand
    /** Its reply has strings as buffers. */
    readonly buffer: IoredisCommand
  }
  readonly isCluster?: boolean
  /** Cluster only: the nodes of each slot as `host:port`, the primary first. */
  readonly slots?: readonly (readonly string[])[]
  /** Cluster only: a connection for each known node. */
  nodes?(role?: 'master'): readonly IoredisClient[]
}

export type IoredisCommand = (
  this: unknown,
  ...args: readonly (string | number | readonly string[])[]
) => Promise<unknown>

/** A connection to a server, or a cluster client, which has connections instead of a stream. */
export interface IoredisConnection {
  readonly status: string
  readonly options: {
    readonly host?: unknown
    readonly port?: unknown
    readonly keyPrefix?: unknown
    readonly stringNumbers?: unknown
    /** Cluster only: the options of the connections to its nodes. */
    readonly redisOptions?: { readonly stringNumbers?: unknown } | undefined
  }
  readonly stream?: IoredisStream
  connect(): Promise<unknown>
  on(event: 'ready' | 'end', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'ready' | 'end', listener: () => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
  listenerCount(event: 'error'): number
}

export interface IoredisStream {
  readonly writable: boolean
  cork(): void
  uncork(): void
}

/** @throws InvalidOptionError for anything that is not such a client, and for one that renames keys. */
export function checkClient(client: IoredisClient): void {
  if (typeof client?.createBuiltinCommand !== 'function') {
    throw new InvalidOptionError('client', 'must be a client of ioredis, iovalkey, or one compatible with them')
  }
  if (client.options.keyPrefix) {
    throw new InvalidOptionError(
      'client',
      'has a keyPrefix, which renames keys but not the channels that belong to them; use the "prefix" option of the store',
    )
  }
}
