import { parseArgs } from 'node:util'
import type { Duration } from '@leasehold/core'
import { defaultPrefix } from '@leasehold/core/adapter'
import { duration, type Environment, listed, parsed, redisUrl, SettingsError, wholeNumber } from './program-settings.ts'

/** The settings of the program. Flags take precedence over the environment. */
export interface BridgeSettings {
  readonly redisUrl: string
  readonly prefix: string
  readonly host: string
  readonly port: number
  readonly tokens: readonly string[]
  readonly ticketSecrets: readonly string[]
  readonly origins: readonly string[]
  readonly longestTicket: Duration
  /** The separate address for the metrics, if there is one. */
  readonly metricsAddress: { readonly host: string; readonly port: number } | undefined
  /**
   * The token for the metrics. Without a separate address, they are served on the public one only if there is a token.
   */
  readonly metricsToken: string | undefined
  readonly perClient: number
  readonly total: number
  readonly perKey: number
  readonly keysPerSecond: number
}

export const usage: string = `Usage: leasehold-bridge --redis <url> --token <token> [options]

Release notifications over HTTP, for waiters that cannot subscribe to Redis.

  --redis <url>            redis:// or rediss://                    LEASEHOLD_BRIDGE_REDIS
  --token <token>          who has it may wait for every key;       LEASEHOLD_BRIDGE_TOKENS (separated by commas)
                           may be repeated
  --ticket-secret <text>   tickets signed with it are let in;       LEASEHOLD_BRIDGE_TICKET_SECRETS (likewise)
                           may be repeated
  --longest-ticket <time>  how far away their end may be,           LEASEHOLD_BRIDGE_LONGEST_TICKET
                           default 24h
  --prefix <text>          that of the locks, default ${defaultPrefix}         LEASEHOLD_BRIDGE_PREFIX
  --port <number>          default 8789; 0 for a free one           LEASEHOLD_BRIDGE_PORT
  --host <address>         default 127.0.0.1: this machine only     LEASEHOLD_BRIDGE_HOST
  --cors <origin>          pages of it may ask; may be repeated     LEASEHOLD_BRIDGE_CORS (separated by commas)
  --per-client <number>    open waits and streams of one client,    LEASEHOLD_BRIDGE_PER_CLIENT
                           default 1000
  --per-key <number>       those of one client for one key,         LEASEHOLD_BRIDGE_PER_KEY
                           default as --per-client
  --total <number>         those of all clients, default 10000      LEASEHOLD_BRIDGE_TOTAL
  --keys-per-second <n>    keys that one client may ask about,      LEASEHOLD_BRIDGE_KEYS_PER_SECOND
                           default 2000
  --metrics-port <number>  serves /metrics on a port of its own     LEASEHOLD_BRIDGE_METRICS_PORT
  --metrics-host <address> for that port, default 127.0.0.1         LEASEHOLD_BRIDGE_METRICS_HOST
  --metrics-token <token>  asked for by /metrics, which without     LEASEHOLD_BRIDGE_METRICS_TOKEN
                           a port of its own is at --port
  --help                   this text
  --version                which version it is

Other users of the machine can read a flag: give tokens, secrets and the URL's password by the environment.
`

const flags = {
  redis: { type: 'string' },
  token: { type: 'string', multiple: true },
  'ticket-secret': { type: 'string', multiple: true },
  prefix: { type: 'string' },
  port: { type: 'string' },
  host: { type: 'string' },
  cors: { type: 'string', multiple: true },
  'per-client': { type: 'string' },
  total: { type: 'string' },
  'longest-ticket': { type: 'string' },
  'metrics-port': { type: 'string' },
  'metrics-host': { type: 'string' },
  'metrics-token': { type: 'string' },
  'per-key': { type: 'string' },
  'keys-per-second': { type: 'string' },
  help: { type: 'boolean' },
  version: { type: 'boolean' },
} as const

const mostConnections = 1_000_000

/**
 * Returns `help` or `version` if only that was asked for.
 *
 * @throws SettingsError naming the flag and the variable.
 */
export function bridgeSettings(args: readonly string[], env: Environment): BridgeSettings | 'help' | 'version' {
  const given = parsed(() => parseArgs({ args: [...args], options: flags }).values)
  if (given.help) return 'help'
  if (given.version) return 'version'
  /** An empty variable counts as not set. */
  const variable = (name: string): string | undefined => env[`LEASEHOLD_BRIDGE_${name}`] || undefined

  const url = redisUrl(given.redis ?? variable('REDIS'), 'LEASEHOLD_BRIDGE_REDIS')
  const tokens = given.token ?? listed(variable('TOKENS'))
  const ticketSecrets = given['ticket-secret'] ?? listed(variable('TICKET_SECRETS'))
  if (tokens.length + ticketSecrets.length === 0) {
    throw new SettingsError('nobody could be let in: use --token or LEASEHOLD_BRIDGE_TOKENS, or --ticket-secret')
  }
  const port = (flag: string, text: string): number => wholeNumber(flag, text, 0, 65_535)
  const metricsPort = given['metrics-port'] ?? variable('METRICS_PORT')
  const metricsHost = given['metrics-host'] ?? variable('METRICS_HOST')
  if (metricsHost !== undefined && metricsPort === undefined) {
    throw new SettingsError('--metrics-host is nothing without --metrics-port')
  }
  const most = (flag: string, text: string): number => wholeNumber(flag, text, 1, mostConnections)
  const perClient = most('--per-client', given['per-client'] ?? variable('PER_CLIENT') ?? '1000')
  return {
    redisUrl: url,
    prefix: given.prefix ?? variable('PREFIX') ?? defaultPrefix,
    host: given.host ?? variable('HOST') ?? '127.0.0.1',
    port: port('--port', given.port ?? variable('PORT') ?? '8789'),
    tokens,
    ticketSecrets,
    longestTicket: duration('--longest-ticket', given['longest-ticket'] ?? variable('LONGEST_TICKET') ?? '24h'),
    metricsAddress:
      metricsPort === undefined
        ? undefined
        : { host: metricsHost ?? '127.0.0.1', port: port('--metrics-port', metricsPort) },
    metricsToken: given['metrics-token'] ?? variable('METRICS_TOKEN'),
    origins: given.cors ?? listed(variable('CORS')),
    perClient,
    total: most('--total', given.total ?? variable('TOTAL') ?? '10000'),
    perKey: most('--per-key', given['per-key'] ?? variable('PER_KEY') ?? String(perClient)),
    keysPerSecond: most('--keys-per-second', given['keys-per-second'] ?? variable('KEYS_PER_SECOND') ?? '2000'),
  }
}
