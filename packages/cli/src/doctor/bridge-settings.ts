import type { Environment } from '../connection/settings.ts'
import { UsageError } from '../usage-error.ts'

/** How to reach a bridge. Neither field is ever printed. */
export interface BridgeSettings {
  readonly url: string
  readonly token: string
}

/**
 * The bridge to test; undefined if none is named.
 *
 * @throws UsageError that quotes neither the URL nor the token
 */
export function bridgeSettings(
  options: Readonly<Record<string, string | boolean | undefined>>,
  env: Environment,
): BridgeSettings | undefined {
  const url = options['bridge'] || env['LEASEHOLD_BRIDGE_URL']
  if (typeof url !== 'string') return undefined
  if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url)) {
    throw new UsageError('--bridge must be a URL such as http://127.0.0.1:8788')
  }
  // A bridge may have several tokens; any of them will do.
  const given = options['bridgeToken'] || env['LEASEHOLD_BRIDGE_TOKEN'] || env['LEASEHOLD_BRIDGE_TOKENS']?.split(',')[0]
  const token = typeof given === 'string' ? given.trim() : ''
  if (!token) throw new UsageError('a bridge needs a token: use LEASEHOLD_BRIDGE_TOKEN, or --bridge-token')
  return { url, token }
}
