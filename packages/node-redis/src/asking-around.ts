import type { ScriptCall, Sent } from '@leasehold/core/redis'
import { nodeOf } from './connections.ts'
import type { NodeRedisClient, NodeRedisCluster } from './node-redis-client.ts'

/**
 * The shortest time between two questions to other nodes, in milliseconds: each makes the client read all slots anew.
 */
const askEveryMs = 250

/** A call that is given up sooner than this, in milliseconds, says nothing about its node. */
const silentAfterMs = 100

/** Keys tried to find one in a node's slots. A node with a hundredth of all slots is missed once in 20,000 times. */
const mostTries = 1_000

/** After this time, in milliseconds, a client sends a command only because a node has redirected it. */
const sentByMs = 20

/** When each cluster was last asked, and how many times. */
const asked = new WeakMap<NodeRedisCluster, { readonly atMs: number; readonly times: number }>()

/**
 * Makes a cluster client find out who has a key's slot now, while the slot's node cannot be reached or does not answer.
 * By itself the client waits until that node comes back, and would not learn that a replica has taken its place;
 * node-redis 6 learns it after some attempts, but not while the connection to a silent node is open.
 *
 * The client rereads the slots when a node answers that another one has the key. So another node is asked for the key,
 * and the command that the client would then redirect is withheld.
 */
function askAround(cluster: NodeRedisCluster, key: string): void {
  const nowMs = performance.now()
  const { atMs, times } = asked.get(cluster) ?? { atMs: -Infinity, times: 0 }
  if (nowMs - atMs < askEveryMs) return
  const elsewhere = keyElsewhere(cluster, key, times * mostTries)
  if (elsewhere === undefined) return
  asked.set(cluster, { atMs: nowMs, times: times + 1 })
  const words = ['GET', key]
  cluster.sendCommand(elsewhere, false, words, { abortSignal: once() }).catch(() => undefined)
  // For node-redis 4, which has no such option.
  setTimeout(() => words.splice(0, words.length, 'PING'), sentByMs)
}

/** Asks at once, and again and again until the function it returns is called. */
export function keepAskingAround(cluster: NodeRedisCluster, key: string): () => void {
  askAround(cluster, key)
  const asking = setInterval(() => askAround(cluster, key), askEveryMs)
  return () => clearInterval(asking)
}

/**
 * Asks when a call is given up that its node has left unanswered for a while: a node that hangs keeps its connections.
 *
 * @param sent the call as it was handed over
 */
export function askOnceSilent(cluster: NodeRedisCluster, { keys }: ScriptCall, sent: Sent): Sent {
  const sentAtMs = performance.now()
  return {
    withdraw() {
      const executed = sent.withdraw()
      if (performance.now() - sentAtMs >= silentAfterMs) askAround(cluster, keys[0] ?? '')
      return executed
    },
  }
}

/** A key of another node whose connection is ready. `from`, the first key tried, varies in case that node hangs too. */
function keyElsewhere(cluster: NodeRedisCluster, key: string, from: number): string | undefined {
  const own = nodeOf(cluster, key)?.client
  for (let tried = from; tried < from + mostTries; tried++) {
    const client = nodeOf(cluster, String(tried))?.client as Partial<NodeRedisClient> | undefined
    if (client && client !== own && 'isReady' in client && client.isReady) return String(tried)
  }
  return undefined
}

/** Stands in for an `AbortSignal`: aborted as soon as the command has been written, so that it is written only once. */
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
