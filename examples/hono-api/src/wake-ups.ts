import { bridgeNotifier } from '@leasehold/bridge-client'
import type { ReleaseNotifier } from '@leasehold/core/adapter'

export interface BridgeSettings {
  /** A `leasehold-bridge` that listens to the same Redis. */
  readonly BRIDGE_URL?: string | undefined
  readonly BRIDGE_TOKEN?: string | undefined
}

/**
 * Wakes waiters over HTTP where both settings are present. Otherwise it is undefined, and waiters poll. It sends nothing yet.
 *
 * @param prefix the store's, which is also the bridge's
 */
export function wakeUpsFrom(
  { BRIDGE_URL: url, BRIDGE_TOKEN: token }: BridgeSettings,
  prefix: string = 'lock:',
): ReleaseNotifier | undefined {
  if (!url || !token) return undefined
  // With a wrong token, waiters poll: that costs commands and throws no error, so somebody has to be told.
  return bridgeNotifier({ url, token, prefix, onError: ({ message }) => console.error(message) })
}
