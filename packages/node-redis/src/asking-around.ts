import { keySlot } from '@leasehold/core/redis'
import type { NodeRedisClient, NodeRedisCluster } from './node-redis-client.ts'

/** How often at most another node is asked, in milliseconds. Each time the client reads all slots over a new connection. */
const askEveryMs = 250

/** Keys that are tried to find one in a slot of a node. A node with a hundredth of all slots is missed once in 20,000 times. */
const mostTries = 1_000

/** A client sends a command on after this time only where a node has sent it on, in milliseconds. */
const sentByMs = 20

const askedAtMs = new WeakMap<NodeRedisCluster, number>()

/**
 * Has a cluster client find out who has a key's slot now, while its node cannot be reached. By itself it waits until that node
 * comes back, and would not learn that a replica has taken its place; node-redis 6 learns it after some attempts.
 *
 * The client reads the slots anew when a node answers that another one has the key. So a node that can be reached is asked for
 * the key, and what the client would send after that is withheld.
 */
function askAround(cluster: NodeRedisCluster, key: string): void {
  const nowMs = performance.now()
  if (nowMs - (askedAtMs.get(cluster) ?? -Infinity) < askEveryMs) return
  const reachable = keyOfReachableNode(cluster)
  if (reachable === undefined) return
  askedAtMs.set(cluster, nowMs)
  const words = ['GET', key]
  cluster.sendCommand(reachable, false, words, { abortSignal: once() }).catch(() => undefined)
  // For node-redis 4, which has no such option.
  setTimeout(() => words.splice(0, words.length, 'PING'), sentByMs)
}

/** Asks at once, and again and again until it is told to stop. */
export function keepAskingAround(cluster: NodeRedisCluster, key: string): () => void {
  askAround(cluster, key)
  const asking = setInterval(() => askAround(cluster, key), askEveryMs)
  return () => clearInterval(asking)
}

function keyOfReachableNode({ slots }: NodeRedisCluster): string | undefined {
  for (let tried = 0; tried < mostTries; tried++) {
    const client = slots[keySlot(String(tried))]?.master.client as Partial<NodeRedisClient> | undefined
    if (client && 'isReady' in client && client.isReady) return String(tried)
  }
  return undefined
}

/** In place of an `AbortSignal`: aborted as soon as the command has been written, so that it is written once. */
function once(): object {
  const signal = {
    aborted: false,
    addEventListener: () => undefined,
    removeEventListener() {
      signal.aborted = true
    },
  }
  return signal
}
