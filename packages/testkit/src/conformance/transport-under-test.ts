import type { RedisTransport } from '@leasehold/core/redis'
import type { TestContext } from 'vitest'

/** A transport, opened for the suite. */
export interface TransportUnderTest {
  readonly transport: RedisTransport
  /** What this transport cannot do, and why. The reason is printed with each skipped claim. */
  readonly skip?: Partial<Record<TransportCapability, string>>
  /**
   * Opens another transport that cannot reach its server yet. Leave it out if there is no connection to wait for, as
   * over HTTP: such a transport is always ready.
   */
  openUnconnected?(): Promise<UnconnectedTransport>
  close(): Promise<void>
}

/** A transport whose client has no connection until `connect` lets it through. */
export interface UnconnectedTransport extends AsyncDisposable {
  readonly transport: RedisTransport
  /** Lets the client reach the server. */
  connect(): Promise<void>
  /** The number of listeners on the client for events that it does not listen to itself. */
  listeners(): number
}

export type TransportCapability =
  /** Strings may contain any character, including U+0000. */
  | 'any-character'
  /** A script may take the server half a second, during which it serves nobody else. */
  | 'busy-server'

/** Returns the transport for one claim; skips the claim if it needs a capability that the transport lacks. */
export type UseTransport = (context: TestContext, capability?: TransportCapability) => RedisTransport
