import type { PlainCommand } from '../plain-commands.ts'
import type { ScriptCall, ScriptReply } from '../redis-transport.ts'
import type { ConnectedClient } from './connected-client.ts'

/**
 * Sends commands that are no scripts over a client that keeps connections. One is not sent unless the client is ready: it waits for no
 * connection.
 *
 * @param send hands a command to the client
 * @param failure the reply for the client's rejection
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
