import { isCluster, isSentinel, type NodeRedisClient } from './node-redis-client.ts'

/**
 * How often a cluster or Sentinel client is polled, in milliseconds: not every version reports when it becomes ready.
 */
const lookEveryMs = 20

/**
 * Listens to a client: calls `changed` when it may have become ready or have ended, and `failed` with each error.
 * Returns a function that removes the listeners.
 */
export function listen(client: NodeRedisClient, changed: () => void, failed: (error: unknown) => void): () => void {
  keepOneListener(client)
  const onError = (error: Error): void => {
    const isAlone = client.listenerCount('error') === 1
    // A cluster client passes on the error of one node.
    failed(isCluster(client) ? new Error('The cluster cannot be reached', { cause: error }) : error)
    // The client may have given up.
    if (!client.isOpen) changed()
    // A client to whose errors nobody listens throws them. If ours is the only listener, we throw them instead.
    if (isAlone) throw error
  }
  client.on('ready', changed)
  client.on('end', changed)
  client.on('error', onError)
  const looking = isCluster(client) || isSentinel(client) ? setInterval(changed, lookEveryMs) : undefined
  return () => {
    client.off('ready', changed)
    client.off('end', changed)
    client.off('error', onError)
    clearInterval(looking)
  }
}

/** An event that no client has. */
const never = Symbol('never')
const kept = new WeakSet<NodeRedisClient>()

/**
 * In node-redis 5 and 6 the user has an object that inherits from the client and its listeners. When its last listener
 * is removed, Node gives that object a list of its own: the listener stays with the client, and whoever listens to the
 * object later hears nothing. So one listener, for an event that never comes, is never removed.
 */
export function keepOneListener(client: NodeRedisClient): void {
  if (kept.has(client)) return
  kept.add(client)
  client.on(never, () => undefined)
}
