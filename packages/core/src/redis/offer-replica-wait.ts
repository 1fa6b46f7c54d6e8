import { replicaWaits } from '#process-state'
import type { RedisTransport } from './redis-transport.ts'
import type { ConfirmedRun } from './replica-wait.ts'

/**
 * Lets a transport wait for replicas, as `waitForReplicas` needs it. For authors of adapters to clients over TCP.
 *
 * @example
 * ```ts
 * const transport = offerReplicaWait(plainTransport, (calls, wait, call) => runAndWait(connection, calls, wait, call))
 * ```
 *
 * @returns the same transport
 */
export function offerReplicaWait(transport: RedisTransport, run: ConfirmedRun): RedisTransport {
  replicaWaits.set(transport, run)
  return transport
}

/** How a transport runs calls and waits for replicas; undefined if it cannot. */
export const replicaWaitOf = (transport: RedisTransport): ConfirmedRun | undefined => replicaWaits.get(transport)
