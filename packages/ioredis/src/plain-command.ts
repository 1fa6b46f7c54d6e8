import type { PlainCommand } from '@leasehold/core/redis'
import { obstacle } from './connections.ts'
import type { IoredisClient } from './ioredis-client.ts'
import { failure, plainValue } from './script-reply.ts'

/** Sends a command that is no script, over whichever connection the client chooses. It is not sent unless the client is ready. */
export const plainCommand =
  (client: IoredisClient): PlainCommand =>
  ([name, ...words], deadline) =>
    new Promise((resolve) => {
      if (deadline.isOver || obstacle(client, undefined)) return resolve({ type: 'unknown', executed: 'no' })
      deadline.onOver(() => resolve({ type: 'unknown', executed: 'unknown' }))
      const command = client.createBuiltinCommand(name.toLowerCase()).buffer
      command.apply(client, words).then(
        (value) => resolve({ type: 'value', value: plainValue(value), resent: false }),
        (error: unknown) => resolve(failure(error, { command: 'EVAL', body: '', keys: [], args: words })),
      )
    })
