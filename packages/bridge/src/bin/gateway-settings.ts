import { parseArgs } from 'node:util'
import { defaultCommands } from '../gateway/index.ts'
import { type Environment, listed, parsed, redisUrl, SettingsError, wholeNumber } from './program-settings.ts'

/** What the program was told, by flags first and then by the environment. */
export interface GatewaySettings {
  readonly redisUrl: string
  readonly host: string
  readonly port: number
  readonly tokens: readonly string[]
  readonly commands: readonly string[]
  readonly deadlineMs: number
  readonly maxBodyBytes: number
}

export const usage = `Usage: leasehold-gateway --redis <url> --token <token> [options]

The REST protocol that @upstash/redis speaks, over a Redis of your own.

  --redis <url>        redis:// or rediss://                  LEASEHOLD_GATEWAY_REDIS
  --token <token>      who has it is let in; may be repeated  LEASEHOLD_GATEWAY_TOKENS (separated by commas)
  --port <number>      default 8787; 0 for a free one         LEASEHOLD_GATEWAY_PORT
  --host <address>     default 127.0.0.1: this machine only   LEASEHOLD_GATEWAY_HOST
  --allow <command>    in addition to the default commands;   LEASEHOLD_GATEWAY_ALLOW (separated by commas)
                       may be repeated
  --deadline <ms>      how long Redis may take, default 5000  LEASEHOLD_GATEWAY_DEADLINE
  --max-body <bytes>   largest request, default 1048576       LEASEHOLD_GATEWAY_MAX_BODY
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
  help: { type: 'boolean' },
} as const

/**
 * Answers undefined if only help was asked for.
 *
 * @throws SettingsError naming the flag and the variable.
 */
export function gatewaySettings(args: readonly string[], env: Environment): GatewaySettings | undefined {
  const given = parsed(() => parseArgs({ args: [...args], options: flags }).values)
  if (given.help) return undefined
  /** A variable that is set to nothing says nothing. */
  const variable = (name: string): string | undefined => env[`LEASEHOLD_GATEWAY_${name}`] || undefined

  const url = redisUrl(given.redis ?? variable('REDIS'), 'LEASEHOLD_GATEWAY_REDIS')
  const tokens = given.token ?? listed(variable('TOKENS'))
  if (tokens.length === 0) throw new SettingsError('no token: use --token or LEASEHOLD_GATEWAY_TOKENS')
  return {
    redisUrl: url,
    host: given.host ?? variable('HOST') ?? '127.0.0.1',
    port: wholeNumber('--port', given.port ?? variable('PORT') ?? '8787', 0, 65_535),
    tokens,
    commands: [...defaultCommands, ...(given.allow ?? listed(variable('ALLOW')))],
    deadlineMs: wholeNumber('--deadline', given.deadline ?? variable('DEADLINE') ?? '5000', 1, 600_000),
    maxBodyBytes: wholeNumber('--max-body', given['max-body'] ?? variable('MAX_BODY') ?? '1048576', 1, 2 ** 30),
  }
}
