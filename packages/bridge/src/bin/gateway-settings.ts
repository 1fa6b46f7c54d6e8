import { parseArgs } from 'node:util'
import { commandList } from '../gateway/command-list.ts'
import { leastReplyBytes } from '../gateway/gateway-options.ts'
import { defaultCommands } from '../gateway/index.ts'
import { type Environment, listed, parsed, redisUrl, SettingsError, wholeNumber } from './program-settings.ts'

/** The settings of the program. Flags take precedence over the environment. */
export interface GatewaySettings {
  readonly redisUrl: string
  readonly host: string
  readonly port: number
  readonly tokens: readonly string[]
  /** The default commands, plus those in `allowed`. */
  readonly commands: readonly string[]
  readonly allowed: readonly string[]
  readonly deadlineMs: number
  readonly maxBodyBytes: number
  readonly maxReplyBytes: number
  readonly maxStreams: number
  /** By default each token has an equal share of the streams. */
  readonly maxStreamsPerToken?: number
}

export const usage = `Usage: leasehold-gateway --redis <url> --token <token> [options]

The REST protocol that @upstash/redis speaks, over a Redis of your own.

  --redis <url>        redis:// or rediss://                   LEASEHOLD_GATEWAY_REDIS
  --token <token>      who has it is let in; may be repeated   LEASEHOLD_GATEWAY_TOKENS (separated by commas)
  --port <number>      default 8790; 0 for a free one          LEASEHOLD_GATEWAY_PORT
  --host <address>     default 127.0.0.1: this machine only    LEASEHOLD_GATEWAY_HOST
  --allow <command>    in addition to the default commands;    LEASEHOLD_GATEWAY_ALLOW (separated by commas)
                       may be repeated
  --deadline <ms>      how long Redis may take, default 5000   LEASEHOLD_GATEWAY_DEADLINE
  --max-body <bytes>   largest request, default 1048576        LEASEHOLD_GATEWAY_MAX_BODY
  --max-reply <bytes>  largest reply, default 16777216         LEASEHOLD_GATEWAY_MAX_REPLY
  --max-streams <number>
                       open event streams, default 1000        LEASEHOLD_GATEWAY_MAX_STREAMS
  --max-streams-per-token <number>
                       the same of one token, default an equal LEASEHOLD_GATEWAY_MAX_STREAMS_PER_TOKEN
                       share of them
  --version            the version of this program
  --help               this text

Other users of the machine can read a flag: give the token and the URL's password by the environment.
`

const flags = {
  redis: { type: 'string' },
  token: { type: 'string', multiple: true },
  port: { type: 'string' },
  host: { type: 'string' },
  allow: { type: 'string', multiple: true },
  deadline: { type: 'string' },
  'max-body': { type: 'string' },
  'max-reply': { type: 'string' },
  'max-streams': { type: 'string' },
  'max-streams-per-token': { type: 'string' },
  version: { type: 'boolean' },
  help: { type: 'boolean' },
} as const

const largestBytes = 2 ** 30
const mostStreams = 1_000_000

/**
 * Returns `help` or `version` if only that was asked for.
 *
 * @throws SettingsError naming the flag and the variable.
 */
export function gatewaySettings(args: readonly string[], env: Environment): GatewaySettings | 'help' | 'version' {
  const given = parsed(() => parseArgs({ args: [...args], options: flags }).values)
  if (given.help) return 'help'
  if (given.version) return 'version'
  /** An empty variable counts as not set. */
  const variable = (name: string): string | undefined => env[`LEASEHOLD_GATEWAY_${name}`] || undefined

  const url = redisUrl(given.redis ?? variable('REDIS'), 'LEASEHOLD_GATEWAY_REDIS')
  const tokens = given.token ?? listed(variable('TOKENS'))
  if (tokens.length === 0) throw new SettingsError('no token: use --token or LEASEHOLD_GATEWAY_TOKENS')
  const allowed = given.allow ?? listed(variable('ALLOW'))
  checkNames(allowed)
  const perToken = given['max-streams-per-token'] ?? variable('MAX_STREAMS_PER_TOKEN')
  return {
    redisUrl: url,
    host: given.host ?? variable('HOST') ?? '127.0.0.1',
    port: wholeNumber('--port', given.port ?? variable('PORT') ?? '8790', 0, 65_535),
    tokens,
    commands: [...defaultCommands, ...allowed],
    allowed,
    deadlineMs: wholeNumber('--deadline', given.deadline ?? variable('DEADLINE') ?? '5000', 1, 600_000),
    maxBodyBytes: wholeNumber('--max-body', given['max-body'] ?? variable('MAX_BODY') ?? '1048576', 1, largestBytes),
    maxReplyBytes: wholeNumber(
      '--max-reply',
      given['max-reply'] ?? variable('MAX_REPLY') ?? '16777216',
      leastReplyBytes,
      largestBytes,
    ),
    maxStreams: wholeNumber('--max-streams', given['max-streams'] ?? variable('MAX_STREAMS') ?? '1000', 0, mostStreams),
    ...(perToken !== undefined && {
      maxStreamsPerToken: wholeNumber('--max-streams-per-token', perToken, 1, mostStreams),
    }),
  }
}

/** @throws SettingsError for anything but a command name, or for a command that cannot work on a shared connection. */
function checkNames(allowed: readonly string[]): void {
  try {
    commandList(allowed, '--allow')
  } catch (error) {
    throw new SettingsError((error as Error).message)
  }
}
