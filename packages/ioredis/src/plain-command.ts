import type { PlainCommand, RedisTransport, ScriptReply } from '@leasehold/core/redis'
import type { IoredisClient } from './ioredis-client.ts'
import { failure, plainValue } from './script-reply.ts'

/**
 * Sends one command that is no script, over whichever connection the client chooses. A check asks so for what scripts may not ask.
 * As with scripts, nothing is sent once the deadline is over, and no error says more than a name and a message.
 */
export const plainCommand =
  (client: IoredisClient, transport: RedisTransport): PlainCommand =>
  async ([name, ...words], deadline) => {
    const refusal = await transport.whenReady('', deadline)
    if (refusal) return refusal
    const reply = client.createBuiltinCommand(name.toLowerCase()).buffer.apply(client, words)
    return await Promise.race([
      reply.then(
        (value): ScriptReply => ({ type: 'value', value: plainValue(value), resent: false }),
        (error: unknown) => failure(error, { command: 'EVAL', body: '', keys: [], args: words }),
      ),
      new Promise<ScriptReply>((resolve) => {
        deadline.onOver(() => resolve({ type: 'unknown', executed: 'unknown' }))
      }),
    ])
  }
