import { parseArgs } from 'node:util'
import { defaultCommands } from '../gateway/index.ts'

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

/** What is wrong with a flag or a variable; the message is for whoever starts the program, and holds no secret. */
export class SettingsError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SettingsError'
  }
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

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Answers undefined if only help was asked for.
 *
 * @throws SettingsError naming the flag and the variable.
 */
export function gatewaySettings(args: readonly string[], env: Environment): GatewaySettings | undefined {
  const given = parsed(args)
  if (given.help) return undefined
  /** A variable that is set to nothing says nothing. */
  const variable = (name: string): string | undefined => env[`LEASEHOLD_GATEWAY_${name}`] || undefined
  const list = (name: string): readonly string[] =>
    (variable(name)?.split(',') ?? []).map((part) => part.trim()).filter((part) => part !== '')

  const url = redisUrl(given.redis ?? variable('REDIS'))
  const tokens = given.token ?? list('TOKENS')
  if (tokens.length === 0) throw new SettingsError('no token: use --token or LEASEHOLD_GATEWAY_TOKENS')
  return {
    redisUrl: url,
    host: given.host ?? variable('HOST') ?? '127.0.0.1',
    port: wholeNumber('--port', given.port ?? variable('PORT') ?? '8787', 0, 65_535),
    tokens,
    commands: [...defaultCommands, ...(given.allow ?? list('ALLOW'))],
    deadlineMs: wholeNumber('--deadline', given.deadline ?? variable('DEADLINE') ?? '5000', 1, 600_000),
    maxBodyBytes: wholeNumber('--max-body', given['max-body'] ?? variable('MAX_BODY') ?? '1048576', 1, 2 ** 30),
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: flags }).values
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // A token that lost its flag is not repeated.
    throw new SettingsError(
      code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL' ? 'there is an argument without its flag' : message,
    )
  }
}

function redisUrl(given: string | undefined): string {
  if (!given)
    throw new SettingsError('no Redis: use --redis or LEASEHOLD_GATEWAY_REDIS, such as redis://127.0.0.1:6379')
  // Not quoted: it may hold a password.
  if (!/^rediss?:\/\/[^/]/.test(given) || !URL.canParse(given)) {
    throw new SettingsError('--redis must be a URL such as redis://127.0.0.1:6379')
  }
  return given
}

function wholeNumber(flag: string, text: string, least: number, most: number): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (number >= least && number <= most) return number
  throw new SettingsError(`${flag} must be a whole number from ${least} to ${most}`)
}
