import type { PlainCommand, ScriptReply } from '@leasehold/core/redis'
import { obstacle } from './connections.ts'
import { isCluster, isSentinel, type NodeRedisClient } from './node-redis-client.ts'
import { failure } from './script-reply.ts'
import { plain } from './sending.ts'

/** Sends a command that is no script. It is not sent unless the client is ready, nor on a cluster, where it needs a key. */
export const plainCommand =
  (client: NodeRedisClient): PlainCommand =>
  (words, deadline) =>
    new Promise((resolve) => {
      const unknown = (executed: 'no' | 'unknown'): void => resolve({ type: 'unknown', executed })
      if (isCluster(client) || deadline.isOver || obstacle(client, undefined)) return unknown('no')
      deadline.onOver(() => unknown('unknown'))
      const sent = isSentinel(client)
        ? client.sendCommand(false, [...words], plain)
        : client.sendCommand([...words], plain)
      sent.then(
        (value) => resolve({ type: 'value', value, resent: false } satisfies ScriptReply),
        (error: unknown) => resolve(failure(error, { command: 'EVAL', body: '', keys: [], args: words.slice(1) })),
      )
    })
