import type { RedisTransport } from '@leasehold/core/redis'
import type { TestContext } from 'vitest'

/** A transport, opened for the suite. */
export interface TransportUnderTest {
  readonly transport: RedisTransport
  /** What this transport cannot do, and why. The reason is printed with each skipped claim. */
  readonly skip?: Partial<Record<TransportCapability, string>>
  close(): Promise<void>
}

export type TransportCapability =
  /** Strings may hold any character, U+0000 included. */
  | 'any-character'
  /** A script may take the server half a second, during which it serves nobody else. */
  | 'busy-server'

/** The transport for one claim; skips it where it needs what the transport has not got. */
export type UseTransport = (context: TestContext, capability?: TransportCapability) => RedisTransport
