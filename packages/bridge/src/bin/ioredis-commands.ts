import { Command } from 'ioredis'
import {
  type GatewayCommand,
  type GatewayRedis,
  type GatewayReply,
  type RedisErrorReply,
  UnansweredError,
} from '../gateway/index.ts'
import type { IoredisConnection } from './ioredis-connection.ts'

/** Commands over ioredis, bypassing its transformations of arguments and replies. */
export function ioredisCommands(connection: IoredisConnection): Pick<GatewayRedis, 'pipeline' | 'multiExec'> {
  async function send(commands: readonly GatewayCommand[], signal: AbortSignal): Promise<readonly GatewayReply[]> {
    await connection.whenReady(signal)
    // One write, with nothing from another request in between.
    const { redis } = connection
    const { stream } = redis
    stream.cork()
    const replies = commands.map((command) => {
      const sent = built(command)
      redis.sendCommand(sent)
      return sent.promise.then(gatewayReply, errorReply)
    })
    stream.uncork()
    return Promise.all(replies)
  }

  /** The connection on which Redis has allowed transactions. */
  let allowing: unknown

  /**
   * Tries an empty transaction once on each connection. For a user without `MULTI`, Redis refuses that command, carries
   * out the commands after it one by one, and answers `EXEC` as if it had discarded them. Resolves with the error if
   * there is one.
   */
  async function refusal(signal: AbortSignal): Promise<RedisErrorReply | undefined> {
    await connection.whenReady(signal)
    const { stream } = connection.redis
    if (stream === allowing) return undefined
    const replies = await send([['MULTI'], ['EXEC']], signal).catch(({ cause }: Error) => {
      // None of the request's commands has been sent.
      throw new UnansweredError('no', { cause })
    })
    const refused = replies.find(isErrorReply)
    if (!refused) allowing = stream
    return refused
  }

  return {
    pipeline: send,
    async multiExec(commands, signal) {
      const refused = await refusal(signal)
      if (refused) return refused
      const [begun, ...replies] = await send([['MULTI'], ...commands, ['EXEC']], signal)
      if (isErrorReply(begun)) {
        // It was allowed until now.
        allowing = undefined
        throw new UnansweredError('unknown', { cause: new Error(begun.error) })
      }
      const outcome = replies.pop()
      if (Array.isArray(outcome)) return outcome as readonly GatewayReply[]
      // All commands were answered QUEUED, except the one that was refused.
      const mistake = replies.find(isErrorReply)
      const { error } = isErrorReply(outcome) ? outcome : { error: 'EXECABORT Transaction discarded.' }
      return { error: mistake ? `${error} (${mistake.error})` : error }
    },
  }
}

/**
 * Builds a command with its name in upper case, for which ioredis finds no transformer: one would turn the reply of
 * `HGETALL` into an object.
 */
const built = ([name, ...args]: GatewayCommand): Command =>
  new Command(
    name.toUpperCase(),
    args.map((arg) => (typeof arg === 'string' ? arg : Buffer.from(arg.buffer, arg.byteOffset, arg.byteLength))),
    { replyEncoding: null },
  )

/**
 * Strings come as buffers, so text is an integer. Arrays are changed in place: copying them would cost as much as
 * reading them. This is a loop, not a recursion, because a script may nest arrays to any depth.
 */
function gatewayReply(value: unknown): GatewayReply {
  const whole = [value]
  const open = [whole]
  for (let array = open.pop(); array; array = open.pop()) {
    for (const [index, element] of array.entries()) {
      if (typeof element === 'string') array[index] = integer(element)
      else if (element instanceof Error) array[index] = { error: element.message }
      else if (Array.isArray(element)) open.push(element)
    }
  }
  return whole[0] as GatewayReply
}

function integer(digits: string): number | bigint {
  const number = Number(digits)
  return Number.isSafeInteger(number) ? number : BigInt(digits)
}

/**
 * Keeps Redis's own words; any other error means that there was no answer. The error itself contains the command, and
 * is dropped.
 */
function errorReply(error: Error): RedisErrorReply {
  if (error.name === 'ReplyError') return { error: error.message }
  throw new UnansweredError('unknown', { cause: new Error(error.message) })
}

const isErrorReply = (reply: GatewayReply | undefined): reply is RedisErrorReply =>
  typeof reply === 'object' && reply !== null && 'error' in reply
