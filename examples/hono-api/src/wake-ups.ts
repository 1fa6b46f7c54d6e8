import { bridgeNotifier } from '@leasehold/bridge-client'
import type { ReleaseNotifier } from '@leasehold/core'

export interface BridgeSettings {
  /** A `leasehold-bridge` that listens to the same Redis. */
  readonly BRIDGE_URL?: string | undefined
  readonly BRIDGE_TOKEN?: string | undefined
}

/**
 * What wakes waiters over HTTP, where both are set; undefined otherwise, and waiters poll. Sends nothing.
 *
 * @param prefix the store's, which is also the bridge's
 */
export function wakeUpsFrom(
  { BRIDGE_URL: url, BRIDGE_TOKEN: token }: BridgeSettings,
  prefix: string = 'lock:',
): ReleaseNotifier | undefined {
  if (!url || !token) return undefined
  // A wrong token costs commands and no error, as waiters poll: somebody has to be told.
  return bridgeNotifier({ url, token, prefix, onError: ({ message }) => console.error(message) })
}
