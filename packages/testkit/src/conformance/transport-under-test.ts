import type { RedisTransport } from '@leasehold/core/redis'
import type { TestContext } from 'vitest'

/** A transport, opened for the suite. */
export interface TransportUnderTest {
  readonly transport: RedisTransport
  /** What this transport cannot do, and why. The reason is printed with each skipped claim. */
  readonly skip?: Partial<Record<TransportCapability, string>>
  /**
   * Opens another one that cannot reach its server yet. Leave it out if there is no connection to wait for, as over HTTP: such a
   * transport is always ready.
   */
  openUnconnected?(): Promise<UnconnectedTransport>
  close(): Promise<void>
}

/** A transport whose client has no connection, until it is let. */
export interface UnconnectedTransport extends AsyncDisposable {
  readonly transport: RedisTransport
  /** Lets the client reach the server. */
  connect(): Promise<void>
  /** How many listeners the client has for events to which it does not listen itself. */
  listeners(): number
}

export type TransportCapability =
  /** Strings may hold any character, U+0000 included. */
  | 'any-character'
  /** A script may take the server half a second, during which it serves nobody else. */
  | 'busy-server'

/** The transport for one claim; skips it where it needs what the transport has not got. */
export type UseTransport = (context: TestContext, capability?: TransportCapability) => RedisTransport
