import { type ConfirmedReply, type ConfirmedRun, type RedisTransport, replicaWaitOf } from '@leasehold/core/redis'
import { keepOneListener } from './listening.ts'
import type { NodeRedisConnection, NodeRedisSentinel } from './node-redis-client.ts'
import { failure } from './script-reply.ts'
import { plain } from './sending.ts'

/**
 * The events of a lost connection. The client may then still have the `WAIT` in its queue, and send it on the next one.
 */
const endings = ['reconnecting', 'end']

/** Counts losses for all calls that wait on one connection: Node warns of more than ten listeners. */
interface LossWatch {
  waits: number
  losses: number
  stop(): void
}

const watches = new WeakMap<NodeRedisConnection, LossWatch>()

/** Sends a `WAIT`; 0 if the connection was lost meanwhile. */
export async function waitOn(connection: NodeRedisConnection, replicas: number, timeoutMs: number): Promise<number> {
  const watch = watches.get(connection) ?? beginWatch(connection)
  const { losses } = watch
  watch.waits++
  try {
    const confirmed = Number(await connection.sendCommand(['WAIT', String(replicas), String(timeoutMs)], plain))
    return watch.losses === losses ? confirmed : 0
  } finally {
    if (--watch.waits === 0) watch.stop()
  }
}

function beginWatch(connection: NodeRedisConnection): LossWatch {
  const lose = (): void => {
    watch.losses++
  }
  const watch: LossWatch = {
    waits: 0,
    losses: 0,
    stop() {
      watches.delete(connection)
      for (const event of endings) connection.off(event, lose)
    },
  }
  keepOneListener(connection)
  for (const event of endings) connection.on(event, lose)
  watches.set(connection, watch)
  return watch
}

/**
 * Runs calls on the connection to the primary, which a Sentinel client lends meanwhile. The client itself might send
 * the calls and their `WAIT` to different servers.
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
