import type { PlainCommand } from '../plain-commands.ts'
import type { ScriptCall, ScriptReply } from '../redis-transport.ts'
import type { ConnectedClient } from './connected-client.ts'

/**
 * Sends commands other than scripts over a client that keeps connections. A command does not wait for a connection: it
 * is sent only if the client is ready.
 *
 * @param send hands a command to the client
 * @param failure turns the client's rejection into a reply
 */
export const plainCommandOver =
  <C extends object>(
    { obstacle }: Pick<ConnectedClient<C>, 'obstacle'>,
    send: (words: readonly [string, ...string[]]) => Promise<unknown>,
    failure: (error: unknown, call: ScriptCall) => ScriptReply,
  ): PlainCommand =>
  (words, deadline) =>
    new Promise((resolve) => {
      if (deadline.isOver || obstacle(undefined)) return resolve({ type: 'unknown', executed: 'no' })
      const withdraw = deadline.onOver(() => resolve({ type: 'unknown', executed: 'unknown' }))
      void send(words)
        .then(
          (value): ScriptReply => ({ type: 'value', value, resent: false }),
          (error: unknown) => failure(error, { command: 'EVAL', body: '', keys: [], args: words.slice(1) }),
        )
        .then(resolve)
        .finally(withdraw)
    })
