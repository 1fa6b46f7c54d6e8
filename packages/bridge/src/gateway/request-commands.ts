import { BadRequestError, CommandReader } from './command-json.ts'
import type { GatewayCommand } from './gateway-redis.ts'

const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads one command: `["SET", "key", "value", "PX", 100]`. @throws BadRequestError */
export const commandOf = (body: Uint8Array): GatewayCommand => reader(body).command()

/** Reads several commands: `[["SET", "a", 1], ["GET", "a"]]`. @throws BadRequestError */
export const commandsOf = (body: Uint8Array, most: number): readonly GatewayCommand[] => reader(body).commands(most)

function reader(body: Uint8Array): CommandReader {
  try {
    return new CommandReader(strictDecoder.decode(body))
  } catch {
    throw new BadRequestError('the body is not JSON in UTF-8')
  }
}

/**
 * Reads the path form: `/set/key/value?EX=100`. A body, which may be binary, is the argument after those of the path;
 * the query's parts come after that. The query's `_token` is not part of the command.
 */
export function commandOfPath({ segments, query }: RequestTarget, body: Uint8Array): GatewayCommand {
  const [name, ...args] = segments.map(decoded)
  if (!name) throw new BadRequestError('the path has no command, such as /get/key')
  const options = [...new URLSearchParams(query)].filter(([option]) => option !== '_token').flat()
  return [name, ...args, ...(body.length > 0 ? [body] : []), ...options.filter((option) => option !== '')]
}

/**
 * The channel of `/subscribe/<name>`. The client does not encode it, so slashes and a question mark are part of it. It
 * is percent-decoded, so that a name with `#`, `%` or a backslash can be sent at all.
 */
export const topicOfPath = ({ segments, query }: RequestTarget): string =>
  decoded([segments.slice(1).join('/'), ...(query === undefined ? [] : [query])].join('?'))

/** The part of the URL that follows the gateway's mount path. */
export interface RequestTarget {
  /** The path segments, not decoded, so that an encoded slash is not a separator. */
  readonly segments: readonly string[]
  /** The query string; undefined if there is no question mark. */
  readonly query: string | undefined
}

/** @param base the gateway's mount path, which may be a pattern with the same number of segments */
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
