import { type ConfirmedReply, type ConfirmedRun, type RedisTransport, replicaWaitOf } from '@leasehold/core/redis'
import { keepOneListener } from './listening.ts'
import type { NodeRedisConnection, NodeRedisSentinel } from './node-redis-client.ts'
import { failure } from './script-reply.ts'
import { plain } from './sending.ts'

/** What comes when a connection is lost. The client may have the `WAIT` in its queue then, and send it on the next one. */
const losses = ['reconnecting', 'end']

/** Sends a `WAIT`; 0 if the connection was lost meanwhile. */
export async function waitOn(connection: NodeRedisConnection, replicas: number, timeoutMs: number): Promise<number> {
  let isLost = false
  const lose = (): void => {
    isLost = true
  }
  keepOneListener(connection)
  for (const event of losses) connection.on(event, lose)
  try {
    const confirmed = Number(await connection.sendCommand(['WAIT', String(replicas), String(timeoutMs)], plain))
    return isLost ? 0 : confirmed
  } finally {
    for (const event of losses) connection.off(event, lose)
  }
}

/**
 * Runs calls on the connection to the primary, which a Sentinel client lends for that long. The client itself might send the calls
 * and their `WAIT` to different servers.
 */
export const confirmedBySentinel =
  (sentinel: NodeRedisSentinel, transportOf: (connection: NodeRedisConnection) => RedisTransport): ConfirmedRun =>
  (calls, wait, deadline) =>
    new Promise((resolve) => {
      let isLent = false
      const all = (confirmedAs: (at: number) => ConfirmedReply): void => {
        withdraw()
        resolve(calls.map((_, at) => confirmedAs(at)))
      }
      const unanswered = (): ConfirmedReply => ({
        reply: { type: 'unknown', executed: isLent ? 'unknown' : 'no' },
        confirmed: 0,
      })
      const withdraw = deadline.onOver(() => resolve(calls.map(unanswered)))
      const use = async (primary: object): Promise<void> => {
        isLent = true
        const run = replicaWaitOf(transportOf(primary as NodeRedisConnection)) as ConfirmedRun
        const replies = await run(calls, wait, deadline)
        all((at) => replies[at] as ConfirmedReply)
      }
      sentinel._execute(false, use).catch((error: unknown) => {
        all((at) => ({ reply: failure(error, calls[at] as (typeof calls)[number]), confirmed: 0 }))
      })
    })
