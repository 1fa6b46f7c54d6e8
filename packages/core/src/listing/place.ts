import type { RedisTransport } from '../redis/redis-transport.ts'
import type { ListingPlace } from '../store/listing.ts'
import { slotProbes } from './figures.ts'

/** Where a search begins: with the first of all nodes, as the client knows them now. Each is reached by a key that lies on it. */
export function beginning(transport: RedisTransport, prefix: string, restarts: number): ListingPlace {
  const nodes = new Map<string, string>()
  const probes = transport.cluster ? slotProbes : 1
  for (let probe = 0; probe < probes; probe++) {
    const key = `{${probe}}:${prefix}`
    const name = transport.nodeOf(key)
    if (!nodes.has(name)) nodes.set(name, key)
  }
  return { cursor: '0', nodes: Array.from(nodes, ([name, key]) => ({ name, key })), restarts }
}

/**
 * Where it goes on after an answer. A cursor is one node's own: if another node serves the key now, nobody knows what was missed, and
 * it begins again. Undefined at the end.
 */
export function following(
  transport: RedisTransport,
  prefix: string,
  place: ListingPlace,
  cursor: string,
): ListingPlace | undefined {
  const [node, ...others] = place.nodes
  if (node && transport.nodeOf(node.key) !== node.name) return beginning(transport, prefix, place.restarts + 1)
  if (cursor !== '0') return { ...place, cursor }
  return others.length > 0 ? { ...place, cursor, nodes: others } : undefined
}
