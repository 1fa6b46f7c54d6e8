import { InvalidOptionError } from '@leasehold/core'
import { defaultPrefix } from '@leasehold/core/adapter'
import { wholeNumber } from '../http/whole-number.ts'
import type { BridgeLimits, BridgeOptions } from '../server/index.ts'

/**
 * The default limit of open waits and streams: an object has 128 MB of memory, and this many event streams take most of
 * it.
 */
const mostOpen = 1_000

/** The bridge's options except its ports, plus where Redis is. */
export interface BridgeObjectSettings extends Omit<BridgeOptions, 'store' | 'subscriber' | 'signal' | 'clock'> {
  /**
   * Where Redis is: `redis://user:password@host:6379/0`, or `rediss://` for TLS with a certificate signed by a public
   * authority. One server; no Sentinel and no Cluster. The URL contains a password: keep it in a secret.
   */
  readonly redisUrl: string
  /** How many waits and streams may be open at a time; default 1,000, per client and in total. */
  readonly limits?: BridgeLimits | undefined
  /**
   * How long the connections to Redis are kept after the last request or stream, in milliseconds; default 10,000. While they
   * are open, the object stays in memory and is billed.
   */
  readonly lingerMs?: number | undefined
}

export interface CheckedSettings extends Omit<BridgeObjectSettings, 'lingerMs'> {
  readonly prefix: string
  readonly limits: BridgeLimits
  readonly lingerMs: number
}

/** @throws InvalidOptionError naming the setting, never containing its value. */
export function checkSettings(settings: BridgeObjectSettings): CheckedSettings {
  const { redisUrl, prefix = defaultPrefix, limits, lingerMs } = settings
  if (!isRedisUrl(redisUrl)) {
    throw new InvalidOptionError(
      'redisUrl',
      'must be a URL such as "rediss://user:password@redis.example:6379/0"; is the secret set in this Worker, and its password percent-encoded?',
    )
  }
  return {
    ...settings,
    prefix,
    limits: { total: mostOpen, ...limits },
    lingerMs: wholeNumber('lingerMs', lingerMs, 10_000),
  }
}

/** Whether it has a host, followed by at most a database number, and a user and password that can be decoded. */
function isRedisUrl(given: unknown): boolean {
  if (typeof given !== 'string' || !/^rediss?:\/\/[^/]/.test(given) || !URL.canParse(given)) return false
  const { hostname, pathname, username, password } = new URL(given)
  return hostname !== '' && /^(\/\d*)?$/.test(pathname) && isEncoded(username) && isEncoded(password)
}

/** Whether every `%` in it begins an escape, as in a percent-encoded password. */
function isEncoded(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined
  } catch {
    return false
  }
}
