import { bridgeNotifier } from '@leasehold/bridge-client'
import type { ReleaseNotifier } from '@leasehold/core/adapter'

export interface BridgeSettings {
  /** A `leasehold-bridge` that listens to the same Redis. */
  readonly BRIDGE_URL?: string | undefined
  readonly BRIDGE_TOKEN?: string | undefined
}

/**
 * A notifier that wakes waiters over HTTP, if both settings are present. Otherwise undefined, and waiters poll.
 * Creating it sends nothing.
 *
 * @param prefix the store's, which is also the bridge's
 */
export function wakeUpsFrom(
  { BRIDGE_URL: url, BRIDGE_TOKEN: token }: BridgeSettings,
  prefix: string = 'lock:',
): ReleaseNotifier | undefined {
  if (!url || !token) return undefined
  // With a wrong token, waiters poll. That costs commands and throws no error, so it has to be reported.
  return bridgeNotifier({ url, token, prefix, onError: ({ message }) => console.error(message) })
}
