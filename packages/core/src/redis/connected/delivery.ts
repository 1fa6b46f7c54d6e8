import type { CallDeadline } from '../../timing/call-deadline.ts'
import type { ScriptCall, ScriptReply } from '../redis-transport.ts'
import type { ConnectedClient, Sent } from './connected-client.ts'
import { connectionError, forgetError, readinessChange } from './readiness.ts'
import { countGivenUp, noteAnswer, takesCall } from './silence.ts'

/** Shared by all deliveries over one client. */
export interface Route<C extends object> {
  readonly to: ConnectedClient<C>
  /** Runs a task in the async context that a connection begun here belongs to. */
  readonly home: (task: () => void) => void
}

/**
 * Waits until a call for this key would be written at once. If that cannot happen, or the deadline passes first, it
 * resolves with the reply to a call that was not sent.
 */
export async function untilReady<C extends object>(
  { to, home }: Route<C>,
  key: string | undefined,
  deadline: CallDeadline,
): Promise<ScriptReply | undefined> {
  for (let waitFor = to.obstacle(key); waitFor; waitFor = to.obstacle(key)) {
    if (to.hasEnded(waitFor) || deadline.isOver) return notSent(to, waitFor)
    const refusal = await readinessChange(to, waitFor, deadline, home)
    if (refusal) return { type: 'error', message: refusal }
  }
  return undefined
}

/** Whoever began one delivery or several. */
export interface Recipient {
  /** Called once for each delivery: when the call is answered, given up, or will not be sent. */
  onReply(reply: ScriptReply, at: number): void
}

/**
 * One call on its way to the server and back.
 *
 * States: *waiting* while its connection is not ready → *handed over* once the client has it → *answered*, or *given
 * up* if the deadline is over first. A call that is still waiting was certainly not sent. A call that was handed over
 * may have been carried out, whether or not an answer comes.
 */
export class Delivery<C extends object> {
  readonly #route: Route<C>
  readonly #call: ScriptCall
  readonly #deadline: CallDeadline
  readonly #recipient: Recipient
  readonly #at: number
  #isHandedOver = false
  #sent: Sent | undefined
  /** The line that the client sends the call on, if known. */
  #line: object | undefined
  #reply: ScriptReply | undefined

  /** @param at what the recipient knows it by */
  constructor(route: Route<C>, call: ScriptCall, deadline: CallDeadline, recipient: Recipient, at: number) {
    this.#route = route
    this.#call = call
    this.#deadline = deadline
    this.#recipient = recipient
    this.#at = at
  }

  /** The client has the call, and may have sent it. */
  get isHandedOver(): boolean {
    return this.#isHandedOver
  }

  get #key(): string | undefined {
    return this.#call.keys[0]
  }

  /** If the connection is ready, hands the call over before returning, so calls that begin together leave together. */
  begin(): void {
    if (!this.#route.to.obstacle(this.#key)) this.#send()
    else {
      void untilReady(this.#route, this.#key, this.#deadline).then((reply) => {
        if (reply) this.#end(reply)
        // The caller may have given up at the very moment the client became ready.
        else if (!this.#deadline.isOver) this.#send()
      })
    }
  }

  /** The caller no longer waits. */
  giveUp(): void {
    if (this.#reply) return
    const { to } = this.#route
    if (this.#isHandedOver) {
      countGivenUp(this.#line)
      this.#end(unanswered(this.#sent?.withdraw() ?? 'unknown', to.said?.(this.#call)))
    } else this.#end(notSent(to, to.obstacle(this.#key) ?? to.client))
  }

  #send(): void {
    const { to } = this.#route
    const connection = to.connectionFor(this.#key)
    // The client and the connection are ready: earlier errors no longer explain anything.
    forgetError(to.client)
    if (connection) {
      if (connection !== to.client) forgetError(connection)
      this.#line = to.lineOf(connection)
    }
    if (!takesCall(this.#line)) {
      this.#end({ type: 'unknown', executed: 'no', cause: silent })
      return
    }
    this.#isHandedOver = true
    this.#sent = to.send(this.#call, connection, (reply) => this.#answer(reply))
  }

  /** Also called with replies too late for the caller, because they still say something about the line. */
  #answer(reply: ScriptReply): void {
    if (reply.type !== 'unknown') noteAnswer(this.#line)
    // A call that was given up was counted then.
    else if (!this.#reply) countGivenUp(this.#line)
    this.#end(reply)
  }

  #end(reply: ScriptReply): void {
    if (this.#reply) return
    this.#reply = reply
    this.#recipient.onReply(reply, this.#at)
  }
}

const silent = new Error('The request was not sent: Redis has not answered on this connection for long')

/** The reply to a call that was handed over and got no answer. */
const unanswered = (executed: 'no' | 'unknown', said: string | undefined): ScriptReply => ({
  type: 'unknown',
  executed,
  cause: new Error(`Redis did not answer in time${said ? `; before, it said about the same slot: ${said}` : ''}`),
})

/** The cause of the cause is the client's own error, such as a refused connection or an unknown host name. */
function notSent<C extends object>(to: ConnectedClient<C>, connection: C): ScriptReply {
  const met = connectionError(connection)
  const cause = new Error(
    `The request was not sent: the Redis client was not connected in time (${to.describe(connection)})`,
    met && { cause: met },
  )
  return { type: 'unknown', executed: 'no', cause }
}
