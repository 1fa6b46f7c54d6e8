import type { CallDeadline } from '@leasehold/core/adapter'
import type { ScriptCall, ScriptReply } from '@leasehold/core/redis'
import { areSame, connectionFor, obstacle, type Sockets, sockets } from './connections.ts'
import type { BufferCommand, IoredisClient, IoredisConnection, IoredisStream } from './ioredis-client.ts'
import { connectionError, forgetError, readinessChange } from './readiness.ts'
import { failure, plainValue } from './script-reply.ts'
import { countGivenUp, noteAnswer, takesCall } from './silence.ts'
import type { SlotsOnTheMove } from './slots-on-the-move.ts'

/** What all deliveries over one client share. */
export interface Route {
  readonly client: IoredisClient
  readonly commands: Readonly<Record<ScriptCall['command'], BufferCommand>>
  readonly waitCommand: BufferCommand
  /** What the cluster said about slots that are being moved. */
  readonly moving: SlotsOnTheMove
  /** Runs a task in the async context that a connection begun here belongs to. */
  readonly home: (task: () => void) => void
}

/**
 * Waits until a call for this key would be written at once. If that cannot be, or the deadline is over first, it resolves with the
 * reply to a call that was not sent.
 */
export async function untilReady(
  { client, home }: Route,
  key: string | undefined,
  deadline: CallDeadline,
): Promise<ScriptReply | undefined> {
  for (let waitFor = obstacle(client, key); waitFor; waitFor = obstacle(client, key)) {
    if (waitFor.status === 'end' || deadline.isOver) return notSent(waitFor)
    const refusal = await readinessChange(waitFor, deadline, home)
    if (refusal) return { type: 'error', message: refusal }
  }
  return undefined
}

/**
 * One call on its way to the server and back.
 *
 * States: *waiting* while its connection is not ready → *handed over* once the client has it → *answered*, or *given up* if
 * the deadline is over first. A call that is still waiting was certainly not sent. A call that was handed over may have been
 * carried out, whether or not an answer comes.
 */
export class Delivery {
  readonly #route: Route
  readonly #call: ScriptCall
  readonly #deadline: CallDeadline
  readonly #round: { onEnd(): void }
  #isHandedOver = false
  /** The socket that the client uses for it, if that is known. */
  #stream: IoredisStream | undefined
  /** The sockets in use when it was handed over. */
  #before: Sockets
  #reply: ScriptReply | undefined

  /** @param round told when the call is answered or will not be sent */
  constructor(route: Route, call: ScriptCall, deadline: CallDeadline, round: { onEnd(): void }) {
    this.#route = route
    this.#call = call
    this.#deadline = deadline
    this.#round = round
  }

  /** The reply as of now. */
  get reply(): ScriptReply {
    const { client } = this.#route
    return this.#reply ?? notSent(obstacle(client, this.#key) ?? client)
  }

  get #key(): string | undefined {
    return this.#call.keys[0]
  }

  /** If its connection is ready, the call is handed over before this returns, so calls that begin together leave together. */
  begin(): void {
    if (!obstacle(this.#route.client, this.#key)) this.#send()
    else {
      void untilReady(this.#route, this.#key, this.#deadline).then((reply) => {
        // Its caller may have given up in the very moment in which the client became ready.
        if (reply || this.#deadline.isOver) this.#end(reply ?? this.reply)
        else this.#send()
      })
    }
  }

  /** The caller no longer waits. */
  giveUp(): void {
    if (!this.#isHandedOver || this.#reply) return
    countGivenUp(this.#stream)
    this.#reply = unanswered(this.#route.moving.last(this.#call))
  }

  #send(): void {
    const { client, commands } = this.#route
    const connection = connectionFor(client, this.#key)
    // Both are ready: earlier errors no longer explain anything.
    forgetError(client)
    if (connection) forgetError(connection)
    this.#stream = connection?.stream
    if (!takesCall(this.#stream)) {
      this.#end({ type: 'unknown', executed: 'no', cause: silent })
      return
    }
    const { command, body, keys, args } = this.#call
    this.#before = sockets(client)
    this.#isHandedOver = true
    const words = ([body, keys.length] as (string | number)[]).concat(keys, args)
    commands[command].apply(client, words).then(
      (value) => this.#answer({ type: 'value', value: plainValue(value), resent: this.#isResent }),
      (error: unknown) => this.#answer(failure(error, this.#call, this.#isResent)),
    )
  }

  get #isResent(): boolean {
    return !areSame(this.#before, this.#route.client)
  }

  /** Also called with replies that are too late for the caller: they still tell about the connection and about slots. */
  #answer(reply: ScriptReply): void {
    if (reply.type !== 'unknown') noteAnswer(this.#stream)
    // A call that was given up has been counted already.
    else if (!this.#reply) countGivenUp(this.#stream)
    this.#route.moving.note(this.#call, reply)
    this.#end(reply)
  }

  #end(reply: ScriptReply): void {
    this.#reply ??= reply
    this.#round.onEnd()
  }
}

const silent = new Error('The request was not sent: Redis has not answered on this connection for long')

/** The reply to a call that was handed over and has no answer. */
const unanswered = (said: string | undefined): ScriptReply => ({
  type: 'unknown',
  executed: 'unknown',
  cause: new Error(`Redis did not answer in time${said ? `; before, it said about the same slot: ${said}` : ''}`),
})

/** The cause of the cause is the client's own error, such as a refused connection or an unknown host name. */
function notSent(connection: IoredisConnection): ScriptReply {
  const met = connectionError(connection)
  const cause = new Error(
    `The request was not sent: the Redis client was not connected in time (its status: ${connection.status})`,
    met && { cause: met },
  )
  return { type: 'unknown', executed: 'no', cause }
}
