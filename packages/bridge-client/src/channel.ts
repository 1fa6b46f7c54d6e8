import type { Subscription } from '@leasehold/core/adapter'
import type { BridgeReach } from './bridge-reach.ts'

/** A connection to the bridge, made again whenever it ends, and its subscribers. It ends when the last of them leaves. */
export interface Channel {
  /** Whether it has room for another subscriber of this key. A channel without this method serves one subscriber only. */
  takes?(key: string): boolean
  /** @param more what a poll asks for besides, as the rest of its query from the `&` on */
  subscribe(key: string, cursor: string, more?: string): Subscription
  close(): void
}

/** @param shared whether several calls may use it */
export type OpenChannel = (reach: BridgeReach, shared: boolean, onEnd: () => void) => Channel
