import { defaultPrefix } from '@leasehold/core/adapter'
import { UsageError } from '../usage-error.ts'
import { checkRedisUrl } from './redis-url.ts'

/** How to reach Redis. */
export interface ConnectionSettings {
  /** `redis://`, `rediss://`, `http://` or `https://`, with any secret it contains. Never printed. */
  readonly url: string
  /** For HTTP only. Never printed. */
  readonly token: string | undefined
  readonly prefix: string
  readonly cluster: boolean
  /** The name of the group that Sentinels watch, if the URL is that of a Sentinel. */
  readonly sentinel: string | undefined
}

export type Environment = Readonly<Record<string, string | undefined>>

/** The options of every command that connects, by their names in camel case. */
export interface ConnectionOptions {
  readonly redis?: string
  readonly token?: string
  readonly prefix?: string
  readonly cluster?: boolean
  readonly sentinel?: string
}

/** The flag of each setting, and the variables it may come from. The bridge and the gateway read the last ones. */
export const connectionFlags: Readonly<Record<'redis' | 'token' | 'prefix', ConnectionFlag>> = {
  redis: {
    flags: '--redis <url>',
    description: 'redis://, rediss://, or https:// for a REST endpoint',
    variables: ['LEASEHOLD_REDIS', 'LEASEHOLD_BRIDGE_REDIS'],
  },
  token: {
    flags: '--token <token>',
    description: 'of the REST endpoint',
    variables: ['LEASEHOLD_TOKEN', 'LEASEHOLD_GATEWAY_TOKENS'],
  },
  prefix: {
    flags: '--prefix <text>',
    description: `that of the locks, by default ${defaultPrefix}`,
    variables: ['LEASEHOLD_PREFIX', 'LEASEHOLD_BRIDGE_PREFIX'],
  },
}

interface ConnectionFlag {
  readonly flags: string
  readonly description: string
  readonly variables: readonly string[]
}

/**
 * Flags take precedence over variables. An empty variable counts as not set.
 *
 * @throws UsageError that quotes neither the URL nor the token
 */
export function connectionSettings(given: ConnectionOptions, env: Environment): ConnectionSettings {
  const setting = (name: keyof typeof connectionFlags): string | undefined =>
    given[name] ?? connectionFlags[name].variables.map((variable) => env[variable]).find(Boolean)
  const url = setting('redis')
  if (!url) {
    throw new UsageError(
      'no Redis: use --redis or LEASEHOLD_REDIS, such as redis://127.0.0.1:6379 or https://my.endpoint',
    )
  }
  checkRedisUrl(url)
  const overHttp = isHttp(url)
  // A gateway may have several tokens; any of them will do.
  const token = setting('token')?.split(',')[0]?.trim()
  if (overHttp && !token) throw new UsageError('a REST endpoint needs a token: use LEASEHOLD_TOKEN, or --token')
  const { cluster = false, sentinel } = given
  if (overHttp && (cluster || sentinel)) throw new UsageError('--cluster and --sentinel are for redis:// and rediss://')
  if (cluster && /\/0*[1-9]/.test(new URL(url).pathname)) throw new UsageError('a cluster has one database, 0')
  if (cluster && sentinel) throw new UsageError('use --cluster or --sentinel, not both')
  const prefix = setting('prefix') ?? defaultPrefix
  if (prefix === '') throw new UsageError('--prefix must not be empty')
  if (prefix.startsWith('{')) throw new UsageError('--prefix must not begin with "{"')
  return { url, token: overHttp ? token : undefined, prefix, cluster, sentinel }
}

export const isHttp = (url: string): boolean => /^https?:/.test(url)

/** The part of the URL that may be shown: without user, password, path and query. */
export function shownUrl({ url }: Pick<ConnectionSettings, 'url'>): string {
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}

/** Hides the secrets in the settings wherever they appear in a text. */
export function withoutSecrets(text: string, settings: ConnectionSettings | undefined): string {
  if (!settings) return text
  const { password, searchParams } = new URL(settings.url)
  const plain = decodeURIComponent(password)
  const secrets = [password && settings.url, settings.token, password, plain, ...searchParams.values()]
  return secrets.reduce<string>((hidden, secret) => (secret ? hidden.replaceAll(secret, '***') : hidden), text)
}
