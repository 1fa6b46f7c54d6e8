import { connectRedisAdmin } from './redis-admin.ts'
import type { RedisServer } from './redis-server.ts'

/** A node that does not answer within this time, in milliseconds, counts as dead. */
const answerWithinMs = 500

/** What a cluster node reports about itself. */
export interface ClusterNode {
  readonly server: RedisServer
  readonly id: string
  /** The id of its primary; undefined if it is a primary. */
  readonly primaryId: string | undefined
  /** The id of the primary of each replica, as this node knows it. */
  readonly following: ReadonlyMap<string, string>
  /** If two nodes claim a slot, the higher epoch wins. */
  readonly epoch: number
  readonly has: (slot: number) => boolean
  /** How many nodes it knows. */
  readonly known: number
  /** The ids of the nodes that it considers primaries with slots. */
  readonly primaries: readonly string[]
}

/** What all nodes that answer report about themselves. */
export async function clusterNodes(servers: readonly RedisServer[]): Promise<readonly ClusterNode[]> {
  const views = await Promise.all(servers.map((server) => viewOf(server).catch(() => undefined)))
  return views.filter((view) => view !== undefined)
}

/** The node that has a slot: of those that claim it, the one with the highest epoch. */
export const ownerOf = (slot: number, nodes: readonly ClusterNode[]): ClusterNode | undefined =>
  nodes
    .filter((node) => node.primaryId === undefined && node.has(slot))
    .reduce<ClusterNode | undefined>((best, node) => (best && best.epoch >= node.epoch ? best : node), undefined)

async function viewOf(server: RedisServer): Promise<ClusterNode> {
  await using admin = await connectRedisAdmin({ port: server.port, deadlineMs: answerWithinMs })
  const lines = String(await admin.command('CLUSTER', 'NODES'))
    .trim()
    .split('\n')
  // id, address, flags, primary, pinged, answered, epoch, link, slots …
  const nodes = lines.map((line) => line.split(' '))
  const own = nodes.find(([, , flags]) => flags?.includes('myself'))
  if (!own) throw new Error(`The node on port ${server.port} does not know itself`)
  const [id = '', , flags = '', primaryId, , , epoch, , ...slots] = own
  const ranges = slots.filter((slot) => !slot.startsWith('[')).map((slot) => slot.split('-').map(Number))
  return {
    server,
    id,
    primaryId: flags.includes('slave') ? primaryId : undefined,
    following: new Map(
      nodes.flatMap(([name = '', , is, of = '']) => (is?.includes('slave') ? [[name, of] as const] : [])),
    ),
    epoch: Number(epoch),
    has: (slot) => ranges.some(([first = -1, last = first]) => first <= slot && slot <= last),
    known: nodes.length,
    primaries: nodes.filter(([, , is, , , , , , slot]) => is?.includes('master') && slot).map(([name = '']) => name),
  }
}
