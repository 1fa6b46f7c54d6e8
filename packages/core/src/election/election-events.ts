import type { LossReason } from '../errors.ts'
import type { ReleaseResult } from '../store/lease-store.ts'

/**
 * What a candidate reports about its election. A listener that throws changes nothing. The locker has its own events
 * about leases.
 */
export type ElectionEvent =
  /** It stands for election, and waits until it is elected. */
  | { readonly type: 'campaigning'; readonly key: string }
  /** It leads. The fence is its term. */
  | { readonly type: 'elected'; readonly key: string; readonly fence: number }
  /**
   * Its term was cut short, and its work was told to stop. The reason is `unreachable` while its lease still lives:
   * then the work has `stopWithin` left.
   */
  | {
      readonly type: 'lost'
      readonly key: string
      readonly fence: number
      readonly reason: LossReason
      /** The error behind it, if there is one. */
      readonly cause: unknown
    }
  /** Its term ended by `resign`, by `stop`, or with its work. `outcome` says how giving the lock back ended. */
  | { readonly type: 'resigned'; readonly key: string; readonly fence: number; readonly outcome: ReleaseResult }
  /** Its work did not stop within `stopWithin`. It may run beside the work of the next leader. */
  | { readonly type: 'overrun'; readonly key: string; readonly fence: number }
  /**
   * After being told to stop, its work threw something that does not come from its signal. That changes nothing else.
   */
  | { readonly type: 'failed'; readonly key: string; readonly fence: number; readonly cause: unknown }
