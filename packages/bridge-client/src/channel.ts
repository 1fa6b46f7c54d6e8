import type { Subscription } from '@leasehold/core'
import type { BridgeReach } from './bridge-reach.ts'

/** A connection to the bridge, made again whenever it ends, and who listens by it. Ends itself when nobody does. */
export interface Channel {
  /** Whether others may listen by it for this key; it is for one subscription if it cannot say. */
  takes?(key: string): boolean
  subscribe(key: string, cursor: string): Subscription
  close(): void
}

/** @param shared whether several calls may listen by it. */
export type OpenChannel = (reach: BridgeReach, shared: boolean, onEnd: () => void) => Channel
