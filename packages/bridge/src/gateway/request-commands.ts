import type { GatewayCommand } from './gateway-redis.ts'

/** The body or the path is not what the protocol asks for; the message is for the client. */
export class BadRequestError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'BadRequestError'
  }
}

const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** `["SET", "key", "value", "PX", 100]`. @throws BadRequestError */
export const commandOf = (body: Uint8Array): GatewayCommand => checkedCommand(parsed(body))

/** `[["SET", "a", 1], ["GET", "a"]]`. @throws BadRequestError */
export function commandsOf(body: Uint8Array, most: number): readonly GatewayCommand[] {
  const commands = parsed(body)
  if (!Array.isArray(commands)) throw new BadRequestError('the body must be an array of commands')
  if (commands.length === 0) throw new BadRequestError('the body has no command')
  if (commands.length > most) {
    throw new BadRequestError(`the body has ${commands.length} commands, and this gateway takes ${most}; send several`)
  }
  return commands.map(checkedCommand)
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(strictDecoder.decode(body))
  } catch {
    // The parser's own message quotes the text, which may hold a secret.
    throw new BadRequestError('the body is not JSON in UTF-8')
  }
}

/** Numbers and booleans are sent as their text, as every Redis client does. */
function checkedCommand(value: unknown): GatewayCommand {
  if (!Array.isArray(value)) throw new BadRequestError('a command must be an array such as ["GET", "key"]')
  const [name, ...args] = value
  if (typeof name !== 'string' || name === '') throw new BadRequestError('a command must begin with its name')
  for (const arg of args) {
    if (typeof arg !== 'string' && typeof arg !== 'boolean' && !Number.isFinite(arg)) {
      throw new BadRequestError('an argument must be a string, a number or a boolean')
    }
  }
  return [name, ...args.map(String)]
}

/**
 * The path form: `/set/key/value?EX=100`. A body, which may be binary, is the argument after those of the path, and what
 * the query has comes after that. The query's `_token` is not a part of the command.
 */
export function commandOfPath({ segments, query }: RequestTarget, body: Uint8Array): GatewayCommand {
  const [name, ...args] = segments.map(decoded)
  if (!name) throw new BadRequestError('the path has no command, such as /get/key')
  const options = [...new URLSearchParams(query)].filter(([option]) => option !== '_token').flat()
  return [name, ...args, ...(body.length > 0 ? [body] : []), ...options.filter((option) => option !== '')]
}

/**
 * The channel of `/subscribe/<name>`, which the client does not encode: slashes and a question mark are a part of it. What
 * is percent-encoded is decoded, so that a name with `#`, `%` or a backslash can be sent at all.
 */
export const topicOfPath = ({ segments, query }: RequestTarget): string =>
  decoded([segments.slice(1).join('/'), ...(query === undefined ? [] : [query])].join('?'))

/** What follows the place where the gateway is mounted. */
export interface RequestTarget {
  /** Not decoded, so that an encoded slash is no separator. */
  readonly segments: readonly string[]
  /** Undefined without a question mark. */
  readonly query: string | undefined
}

/** @param base the path at which the gateway is mounted, which may be a pattern of as many segments */
export function requestTarget(url: string, base: string): RequestTarget {
  const target = url.slice(url.indexOf('/', url.indexOf('://') + 3) + 1)
  const [path = '', ...rest] = target.split('?')
  const mounted = base.split('/').filter((segment) => segment !== '').length
  return { segments: path.split('/').slice(mounted), query: rest.length > 0 ? rest.join('?') : undefined }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // It was not encoded.
    return text
  }
}
