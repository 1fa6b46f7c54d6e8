import { InvalidOptionError } from '@leasehold/core'
import { checkTokens } from '../http/bearer-tokens.ts'
import { longestHeartbeatMs } from '../http/event-stream.ts'
import { wholeNumber } from '../http/whole-number.ts'
import { defaultCommands } from './command-list.ts'
import type { GatewayRedis } from './gateway-redis.ts'

export interface GatewayOptions {
  /** The Redis behind the gateway. It stays the caller's, who closes it. */
  readonly redis: GatewayRedis
  /**
   * The bearer tokens that are let in, at least one; each may do everything that the gateway allows. Several, so that one
   * can be replaced while both are valid. 32 characters or more, at random, such as 32 bytes in hex.
   */
  readonly tokens: readonly string[]
  /**
   * The commands that are let through, such as `'GET'`, or with a subcommand `'SCRIPT LOAD'`; default
   * {@link defaultCommands}. `SUBSCRIBE` and `PSUBSCRIBE` stand for the event streams.
   */
  readonly commands?: readonly string[]
  /** How long Redis may take to answer a request, in milliseconds; default 5,000. */
  readonly deadlineMs?: number
  /** The largest request body, in bytes; default 1 MiB. */
  readonly maxBodyBytes?: number
  /** The most commands in a pipeline or transaction; default 1,000. */
  readonly maxPipeline?: number
  /** The most event streams at a time; default 1,000. */
  readonly maxStreams?: number
  /** The longest silence of an event stream, in milliseconds; default 10,000, at most 15,000. */
  readonly heartbeatMs?: number
  /** When aborted, the gateway ends its event streams and answers new requests with 503. */
  readonly signal?: AbortSignal
  /** Told of errors that are neither the client's nor of Redis; the client sees a 500 without details. */
  readonly onError?: (error: unknown) => void
}

export type CheckedOptions = Required<Omit<GatewayOptions, 'signal' | 'onError'>> &
  Pick<GatewayOptions, 'signal' | 'onError'>

/** @throws InvalidOptionError naming the option, never with a token in it. */
export function checkOptions(options: GatewayOptions): CheckedOptions {
  const { redis, tokens } = options
  if (typeof redis?.pipeline !== 'function') throw new InvalidOptionError('redis', 'must be a GatewayRedis')
  if (!Array.isArray(tokens) || tokens.length === 0)
    throw new InvalidOptionError('tokens', 'must have at least one token')
  checkTokens('tokens', tokens)
  return {
    ...options,
    commands: options.commands ?? defaultCommands,
    deadlineMs: wholeNumber('deadlineMs', options.deadlineMs, 5_000),
    maxBodyBytes: wholeNumber('maxBodyBytes', options.maxBodyBytes, 1_048_576),
    maxPipeline: wholeNumber('maxPipeline', options.maxPipeline, 1_000),
    maxStreams: wholeNumber('maxStreams', options.maxStreams, 1_000, 0),
    heartbeatMs: wholeNumber('heartbeatMs', options.heartbeatMs, 10_000, 1, longestHeartbeatMs),
  }
}
