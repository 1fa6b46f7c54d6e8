import { type CallDeadline, homeContext } from '@leasehold/core/adapter'
import type { RedisTransport, ScriptCall, ScriptReply } from '@leasehold/core/redis'
import { nodeNameOf, nodeOf } from './cluster-node.ts'
import { checkClient, type IoredisClient, type IoredisConnection, type IoredisStream } from './ioredis-client.ts'
import { connectionError, forgetError, isReady, readinessChange } from './readiness.ts'
import { failure, plainValue } from './script-reply.ts'
import { countGivenUp, noteAnswer, takesCall } from './silence.ts'
import { slotsOnTheMove } from './slots-on-the-move.ts'

/** The answer to a call that was handed to the client, for as long as there is no other. */
const unanswered = (said?: string): ScriptReply => ({
  type: 'unknown',
  executed: 'unknown',
  cause: new Error(`Redis did not answer in time${said ? `; it said before, of the same slot: ${said}` : ''}`),
})

/**
 * Runs scripts over an ioredis-compatible client: standalone, Sentinel or Cluster.
 *
 * A call waits here, not in the client's offline queue, until its connection is ready, so that nothing of it
 * is sent once its deadline is over. Once handed over it is the client's: after a lost connection that may send it again (its options
 * `autoResendUnfulfilledCommands` and `maxRetriesPerRequest`; Cluster: `maxRedirections`), which `resent` tells. To a
 * connection that has been silent for 2 s after a thousand calls were given up only one call per half second is sent,
 * until it answers or is replaced. A server that does not let the client in is told of at once.
 *
 * Changes no option of the client, and leaves no listener on it. A connection begun here, as the client was never asked to
 * connect, belongs to the async context in which this was called.
 *
 * @throws InvalidOptionError for a client with a `keyPrefix`, or something that is no such client.
 */
export function ioredisTransport(client: IoredisClient): RedisTransport {
  checkClient(client)
  const cluster = client.isCluster === true
  const home = homeContext()
  const moving = slotsOnTheMove()
  const commands = {
    EVALSHA: client.createBuiltinCommand('evalsha').buffer,
    EVAL: client.createBuiltinCommand('eval').buffer,
  }

  const connectionFor = (call: ScriptCall | undefined): IoredisConnection | undefined =>
    cluster ? nodeOf(client, call?.keys[0]) : client

  /** What is not ready yet and has to be before the call can be sent. */
  function obstacle(call: ScriptCall | undefined): IoredisConnection | undefined {
    if (!isReady(client)) return client
    const node = connectionFor(call)
    // A node that has ended is about to be replaced; the client finds the new one by itself.
    return node && !isReady(node) && node.status !== 'end' ? node : undefined
  }

  /** Answers undefined if the call was not sent. */
  async function deliver(
    call: ScriptCall,
    deadline: CallDeadline,
    onSend: (stream: IoredisStream | undefined) => void,
  ): Promise<ScriptReply | undefined> {
    for (let waitFor = obstacle(call); waitFor; waitFor = obstacle(call)) {
      if (waitFor.status === 'end') return undefined
      const refusal = await readinessChange(waitFor, deadline.signal, home)
      if (refusal) return { type: 'error', message: refusal }
      if (deadline.isOver) return undefined
    }
    const connection = connectionFor(call)
    for (const ready of [client, ...(connection ? [connection] : [])]) forgetError(ready)
    const stream = connection?.stream
    if (!takesCall(stream)) return { type: 'unknown', executed: 'no', cause: silent }
    const before = streams(client)
    onSend(stream)
    try {
      const { body, keys, args } = call
      const value = await commands[call.command].call(client, body, keys.length, ...keys, ...args)
      noteAnswer(stream)
      return { type: 'value', value: plainValue(value), resent: !areSame(before, streams(client)) }
    } catch (error) {
      const reply = failure(error, call, !areSame(before, streams(client)))
      moving.note(call, reply)
      if (reply.type === 'error') noteAnswer(stream)
      // Once it was given up it was counted already.
      else if (!deadline.isOver) countGivenUp(stream)
      return reply
    }
  }

  return {
    commandDeadlineMs: 2_000,
    cluster,
    countsSubscribers: !cluster,
    nodeOf: (key) => (cluster && nodeNameOf(client, key)) || '',
    run: (calls, deadline) =>
      new Promise((resolve) => {
        /** What can be answered at this moment; nothing for a call that was not sent. */
        const replies: (ScriptReply | undefined)[] = calls.map(() => undefined)
        const awaited = new Map<number, IoredisStream | undefined>()
        let open = calls.length
        let withdraw: (() => void) | undefined
        const settle = (): void => {
          withdraw?.()
          resolve(replies.map((reply, index) => reply ?? notSent(obstacle(calls[index]) ?? client)))
        }
        const giveUp = (): void => {
          for (const [index, stream] of awaited) {
            countGivenUp(stream)
            replies[index] = unanswered(moving.last(calls[index]))
          }
          settle()
        }
        if (deadline.isOver || open === 0) return settle()
        withdraw = deadline.onOver(giveUp)

        // Everything that can be sent now leaves in one write per connection. Not the client's pipeline: on a cluster that
        // is for one node only, and is not redirected call by call.
        const corked = calls.length > 1 ? streams(client) : []
        for (const stream of corked) stream.cork()
        for (const [index, call] of calls.entries()) {
          const onSend = (stream: IoredisStream | undefined): void => void awaited.set(index, stream)
          void deliver(call, deadline, onSend).then((reply) => {
            awaited.delete(index)
            replies[index] = reply
            if (--open === 0) settle()
          })
        }
        for (const stream of corked) stream.uncork()
      }),
  }
}

const silent = new Error('The request was not sent: Redis has not answered on this connection for long')

/** What the client itself met with is the cause of the cause: a refused connection, a name that nobody knows. */
function notSent(connection: IoredisConnection): ScriptReply {
  const met = connectionError(connection)
  const cause = new Error(
    `The request was not sent: the Redis client was not connected in time (its status: ${connection.status})`,
    met && { cause: met },
  )
  return { type: 'unknown', executed: 'no', cause }
}

/**
 * The sockets in use now. A call that was answered while they were all the same was sent once; if any is new or gone, the
 * client may have sent it on both the old and the new one.
 */
function streams(client: IoredisClient): readonly IoredisStream[] {
  const connections = client.nodes?.() ?? [client]
  return connections.flatMap(({ stream }) => (stream ? [stream] : []))
}

const areSame = (before: readonly IoredisStream[], after: readonly IoredisStream[]): boolean =>
  before.length === after.length && before.every((stream, index) => stream === after[index])
