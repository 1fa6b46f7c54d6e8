import type { LockerEvent } from '@leasehold/core'

/** Tells a parent process that opened a channel what the locker does. A service would count these, or log some. */
export function reportToParent(event: LockerEvent): void {
  if (!process.connected) return
  // A parent that goes away at this moment is told by the event `disconnect`.
  process.send?.({ at: Date.now(), ...event }, undefined, undefined, () => undefined)
}
