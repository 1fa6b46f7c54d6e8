import { type ScriptCall, type ScriptReply, type Sent, sentFromNodeToNode } from '@leasehold/core/redis'
import type { CommandOptions, NodeRedisCluster, NodeRedisConnection, NodeRedisSentinel } from './node-redis-client.ts'
import { failure, isRedirection } from './script-reply.ts'

type Answer = (reply: ScriptReply) => void

/**
 * Our commands ignore the options that the user's client applies to others: replies are strings and numbers, and the
 * client sets no timer for each command. In node-redis 6 that timer, of five seconds, costs more than half of its
 * speed, and a call has a deadline of its own.
 */
export const plain: CommandOptions = {
  ...{ typeMapping: {}, returnBuffers: false, asap: false },
  ...{ timeout: undefined, abortSignal: undefined },
}

/** A call as the words of a command. */
const wordsOf = ({ command, body, keys, args }: ScriptCall): string[] => [
  command,
  body,
  String(keys.length),
  ...keys,
  ...args,
]

/**
 * Turns a command that nobody waits for into one that does nothing, in case the client still has it in its queue: if
 * the connection was lost or was not writable, the client sends the queue as soon as it can, however late that is.
 */
function spoil(words: string[]): void {
  words.splice(0, words.length, 'PING')
}

/** Sends a call on one connection. It is written at most once, and never on a later connection. */
export function sendOn(connection: NodeRedisConnection, call: ScriptCall, answer: Answer): Sent {
  const words = wordsOf(call)
  connection.sendCommand(words, plain).then(
    (value) => answer({ type: 'value', value, resent: false }),
    (error: unknown) => answer(failure(error, call)),
  )
  return {
    withdraw() {
      spoil(words)
      return 'unknown'
    },
  }
}

/**
 * Sends a call on the connection of its slot, so that it leaves at once, together with the others of its turn. If the
 * slot has moved, or there is no such connection, the cluster client finds the way.
 */
export function sendInCluster(
  cluster: NodeRedisCluster,
  connection: NodeRedisConnection | undefined,
  call: ScriptCall,
  answer: Answer,
): Sent {
  let isWithdrawn = false
  const findWay = (): Sent =>
    sendThrough(
      (words, options) => cluster.sendCommand(call.keys[0] ?? '', false, words, options),
      call,
      // The call is sent again only if a node says that another one has the slot.
      (reply) =>
        answer(reply.type === 'error' && isRedirection(reply) ? sentFromNodeToNode(reply.message) : sentOnce(reply)),
    )
  let sent = connection
    ? sendOn(connection, call, (reply) => {
        if (isRedirection(reply) && !isWithdrawn) sent = findWay()
        else answer(reply)
      })
    : findWay()
  return {
    withdraw() {
      isWithdrawn = true
      return sent.withdraw()
    },
  }
}

function sentOnce(reply: ScriptReply): ScriptReply {
  if (reply.type === 'value') return { ...reply, resent: false }
  return reply.type === 'error' ? { type: 'error', message: reply.message } : reply
}

/** Sends a call to the primary that the sentinels name. If the connection is lost, the client resends to the next. */
export const sendBySentinel = (sentinel: NodeRedisSentinel, call: ScriptCall, answer: Answer): Sent =>
  sendThrough((words, options) => sentinel.sendCommand(false, words, options), call, answer)

/** Sends a call through a client that may hand it to one connection after another. */
function sendThrough(
  send: (words: string[], options: CommandOptions) => Promise<unknown>,
  call: ScriptCall,
  answer: Answer,
): Sent {
  const words = wordsOf(call)
  const course = new Course()
  send(words, { ...plain, abortSignal: course }).then(
    (value) => answer({ type: 'value', value, resent: course.isRepeated }),
    (error: unknown) => {
      const reply = failure(error, call)
      if (reply.type === 'error') answer(course.isRepeated ? { ...reply, resent: true } : reply)
      else answer(reply.type === 'unknown' && course.wasNotSent ? { ...reply, executed: 'no' } : reply)
    },
  )
  return {
    withdraw() {
      spoil(words)
      course.abort()
      return course.wasNotSent ? 'no' : 'unknown'
    },
  }
}

/**
 * Stands in for an `AbortSignal`. The client listens to it while a command is in a connection's queue, and stops when
 * it writes the command: so it shows how often the command was written. The client of node-redis 4 does not listen.
 */
class Course {
  aborted = false
  #isHeeded = false
  #written = 0
  #listener: (() => void) | undefined

  get isRepeated(): boolean {
    return this.#written > 1
  }

  get wasNotSent(): boolean {
    return this.#isHeeded && this.#written === 0
  }

  addEventListener(_event: 'abort', listener: () => void): void {
    this.#isHeeded = true
    this.#listener = listener
  }

  removeEventListener(): void {
    this.#written++
    this.#listener = undefined
  }

  abort(): void {
    this.aborted = true
    this.#listener?.()
  }
}
