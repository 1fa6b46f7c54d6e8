import { InvalidOptionError } from '@leasehold/core'
import type { Complete } from '../http/complete.ts'
import { checkTokens } from '../http/secrets.ts'
import { longestHeartbeatMs } from '../http/sse-body.ts'
import { wholeNumber } from '../http/whole-number.ts'
import { defaultCommands } from './command-list.ts'
import type { GatewayRedis } from './gateway-redis.ts'

export interface GatewayOptions {
  /** The Redis behind the gateway. The caller closes it. */
  readonly redis: GatewayRedis
  /**
   * The accepted bearer tokens, at least one. Each may do everything that the gateway allows. With several, you can
   * replace one while both are valid. Each has 32 random characters or more, such as 32 bytes in hex.
   */
  readonly tokens: readonly string[]
  /**
   * The commands that are let through, such as `'GET'`, or `'SCRIPT LOAD'` with a subcommand; default
   * {@link defaultCommands}. `SUBSCRIBE` and `PSUBSCRIBE` stand for the event streams.
   */
  readonly commands?: readonly string[] | undefined
  /** How long Redis may take to answer a request, in milliseconds; default 5,000. */
  readonly deadlineMs?: number | undefined
  /** The largest request body, in bytes; default 1 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** The most commands in a pipeline or transaction; default 1,000. */
  readonly maxPipeline?: number | undefined
  /**
   * The largest reply to a request, in bytes: those of its strings, plus 16 for each element; default 16 MiB. An error
   * replaces a larger reply, although its command was carried out. Redis's reply is in memory before it is counted.
   */
  readonly maxReplyBytes?: number | undefined
  /** The most event streams at a time; default 1,000. */
  readonly maxStreams?: number | undefined
  /** The most event streams of one token; default an equal share of `maxStreams`, at least one. */
  readonly maxStreamsPerToken?: number | undefined
  /** The longest silence of an event stream, in milliseconds; default 10,000, at most 15,000. */
  readonly heartbeatMs?: number | undefined
  /** When aborted, the gateway ends its event streams and answers new requests with 503. */
  readonly signal?: AbortSignal | undefined
  /** Called with errors that are neither the client's nor Redis's. The client sees a 500 without details. */
  readonly onError?: ((error: unknown) => void) | undefined
}

export type CheckedOptions = Complete<Omit<GatewayOptions, 'signal' | 'onError'>> &
  Pick<GatewayOptions, 'signal' | 'onError'>

/**
 * The least value of `maxReplyBytes`: the replies of lock scripts fit. For a lock, a reply that does not fit is a lost
 * answer.
 */
export const leastReplyBytes = 65_536

/** @throws InvalidOptionError naming the option, never containing a token. */
export function checkOptions(options: GatewayOptions): CheckedOptions {
  const { redis, tokens } = options
  if (typeof redis?.pipeline !== 'function') throw new InvalidOptionError('redis', 'must be a GatewayRedis')
  if (!Array.isArray(tokens) || tokens.length === 0)
    throw new InvalidOptionError('tokens', 'must have at least one token')
  checkTokens('tokens', tokens)
  const maxStreams = wholeNumber('maxStreams', options.maxStreams, 1_000, 0)
  const share = Math.max(1, Math.floor(maxStreams / new Set(tokens).size))
  return {
    ...options,
    commands: options.commands ?? defaultCommands,
    deadlineMs: wholeNumber('deadlineMs', options.deadlineMs, 5_000),
    maxBodyBytes: wholeNumber('maxBodyBytes', options.maxBodyBytes, 1_048_576),
    maxPipeline: wholeNumber('maxPipeline', options.maxPipeline, 1_000),
    maxReplyBytes: wholeNumber('maxReplyBytes', options.maxReplyBytes, 16 * 1_048_576, leastReplyBytes),
    maxStreams,
    maxStreamsPerToken: wholeNumber('maxStreamsPerToken', options.maxStreamsPerToken, share),
    heartbeatMs: wholeNumber('heartbeatMs', options.heartbeatMs, 10_000, 1, longestHeartbeatMs),
  }
}
