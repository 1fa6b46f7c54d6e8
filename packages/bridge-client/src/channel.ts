import type { Subscription } from '@leasehold/core/adapter'
import type { BridgeReach } from './bridge-reach.ts'

/** A connection to the bridge, reopened whenever it ends, and its subscribers. It ends when the last of them leaves. */
export interface Channel {
  /**
   * Whether it has room for another subscriber of this key. A channel without this method serves only one subscriber.
   */
  takes?(key: string): boolean
  /** @param more further parameters of a poll: the rest of its query, from the `&` */
  subscribe(key: string, cursor: string, more?: string): Subscription
  close(): void
}

/** @param shared whether several calls may use the channel */
export type OpenChannel = (reach: BridgeReach, shared: boolean, onEnd: () => void) => Channel
