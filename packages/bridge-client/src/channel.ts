import type { Subscription } from '@leasehold/core/adapter'
import type { BridgeReach } from './bridge-reach.ts'

/** A connection to the bridge that is made again whenever it ends, and its subscribers. Ends itself when there are none. */
export interface Channel {
  /** Whether it has room for another subscriber, for this key. One that cannot say is for one subscriber only. */
  takes?(key: string): boolean
  subscribe(key: string, cursor: string): Subscription
  close(): void
}

/** @param shared whether several calls may hear by it */
export type OpenChannel = (reach: BridgeReach, shared: boolean, onEnd: () => void) => Channel
