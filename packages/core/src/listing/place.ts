import type { RedisTransport } from '../redis/redis-transport.ts'
import type { ListingPlace } from '../store/listing.ts'
import { systemClock } from '../timing/clock.ts'
import { firstTag, tagsATurn } from './figures.ts'

/** The beginning of a search: the first of the nodes that the client knows now. Each is reached by a key on it. */
export async function beginning(transport: RedisTransport, prefix: string, restarts: number): Promise<ListingPlace> {
  const nodes = new Map<string, string>()
  const tags = transport.cluster ? firstTag : 1
  for (let at = 0; at < tags; at++) {
    if (at % tagsATurn === tagsATurn - 1) await nextTurn()
    const key = `{${(firstTag + at).toString(2)}}:${prefix}`
    const name = transport.nodeOf(key)
    if (!nodes.has(name)) nodes.set(name, key)
  }
  return { cursor: '0', nodes: Array.from(nodes, ([name, key]) => ({ name, key })), restarts }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => void systemClock.schedule(resolve, 0))

/**
 * The place where a search goes on after an answer; undefined at the end. A cursor is valid only for its node: if
 * another node serves the key now, nobody knows what was missed, so the search begins again.
 */
export async function following(
  transport: RedisTransport,
  prefix: string,
  place: ListingPlace,
  cursor: string,
): Promise<ListingPlace | undefined> {
  const [node, ...others] = place.nodes
  if (node && transport.nodeOf(node.key) !== node.name) return beginning(transport, prefix, place.restarts + 1)
  if (cursor !== '0') return { ...place, cursor }
  return others.length > 0 ? { ...place, cursor, nodes: others } : undefined
}
