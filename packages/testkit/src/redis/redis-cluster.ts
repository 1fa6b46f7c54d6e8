import { type ClusterNode, clusterNodes, ownerOf } from './cluster-view.ts'
import { type RedisServer, replicated, startRedis } from './redis-server.ts'
import { SlotMove } from './slot-move.ts'
import { until } from './until.ts'

const slotCount = 16_384
/** How long a failover may take, in milliseconds. It takes a tenth of that; asking the replica again starts it over. */
const failOverWithinMs = 2_000

export interface RedisClusterOptions {
  /** How many primaries share the slots; default 3. */
  readonly nodes?: number
  /** How many replicas each primary has; default 0. */
  readonly replicas?: number
  /** Further arguments for each server program. */
  readonly args?: readonly string[]
}

/** A running cluster, with methods for what can happen to one. Made by `startRedisCluster`. */
export interface RedisCluster extends AsyncDisposable {
  /** The nodes that were primaries at the beginning. */
  readonly nodes: readonly RedisServer[]
  /** The nodes that were replicas at the beginning. */
  readonly replicas: readonly RedisServer[]
  /** The node that has the slot of a key now. */
  nodeOf(key: string): Promise<RedisServer>
  /** The present replicas of a node that answer. */
  replicasOf(node: RedisServer): Promise<readonly RedisServer[]>
  /**
   * Makes a replica take over from its primary, in agreement with the primary: nothing is lost. Resolves with the new
   * primary when all nodes know it. That takes a moment, or eight seconds if this replica took over recently.
   */
  failOver(node: RedisServer): Promise<RedisServer>
  /** Resolves with the node that has a key's slot once that is another node than `node`, and all nodes know it. */
  successorOf(node: RedisServer, key: string): Promise<RedisServer>
  /** Prepares the move of a key's slot to another node; default the next primary. Nothing happens yet. */
  slotMove(key: string, target?: RedisServer): Promise<SlotMove>
  stop(): Promise<void>
}

/**
 * Starts a real Redis Cluster on 127.0.0.1, and resolves when every node knows it to be complete and every replica has
 * its primary's data. A primary that does not answer for two seconds is replaced by a replica, if it has one.
 */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { nodes: count = 3, replicas: each = 0 } = options
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', ...(options.args ?? [])]
  const started = await Promise.allSettled(
    // A node learns its own address from others; until then it would tell clients an empty one.
    Array.from({ length: count * (1 + each) }, () =>
      startRedis({ args: ['--cluster-announce-ip', '127.0.0.1', ...args] }),
    ),
  )
  const servers = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()))
  }
  try {
    for (const result of started) if (result.status === 'rejected') throw result.reason
    await form(servers, count)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    nodes: servers.slice(0, count),
    replicas: servers.slice(count),
    ...membersOf(servers),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** The calls that ask the nodes for the present state. */
function membersOf(
  servers: readonly RedisServer[],
): Pick<RedisCluster, 'nodeOf' | 'replicasOf' | 'failOver' | 'successorOf' | 'slotMove'> {
  async function placeOf(key: string): Promise<{ slot: number; owner: ClusterNode; nodes: readonly ClusterNode[] }> {
    const nodes = await clusterNodes(servers)
    const slot = Number(await nodes[0]?.server.command('CLUSTER', 'KEYSLOT', key))
    const owner = ownerOf(slot, nodes)
    if (!owner) throw new Error(`No node has the slot of ${key}`)
    return { slot, owner, nodes }
  }
  async function replicasOf(node: RedisServer): Promise<readonly RedisServer[]> {
    const nodes = await clusterNodes(servers)
    const id = nodes.find(({ server }) => server === node)?.id
    return nodes.filter(({ primaryId }) => primaryId !== undefined && primaryId === id).map(({ server }) => server)
  }
  return {
    nodeOf: async (key) => (await placeOf(key)).owner.server,
    replicasOf,
    async failOver(node) {
      const [replica] = await replicasOf(node)
      if (!replica) throw new Error(`The node on port ${node.port} has no replica`)
      let askAgainAtMs = 0
      await until('the replica takes over', async () => {
        const nodes = await clusterNodes(servers)
        const of = (server: RedisServer): ClusterNode | undefined => nodes.find((each) => each.server === server)
        const successor = of(replica)
        if (!successor) return false
        // A node that does not know yet whose replica this is does not vote for it, and the next vote is eight seconds
        // later.
        const isKnown = nodes.every(({ following }) => following.get(successor.id) === of(node)?.id)
        if (successor.primaryId !== undefined && isKnown && performance.now() > askAgainAtMs) {
          await replica.command('CLUSTER', 'FAILOVER')
          askAgainAtMs = performance.now() + failOverWithinMs
        }
        return isAgreed(successor, nodes)
      })
      return replica
    },
    async successorOf(node, key) {
      let successor: ClusterNode | undefined
      await until('another node has the slot', async () => {
        const { owner, nodes } = await placeOf(key)
        successor = owner
        return owner.server !== node && isAgreed(owner, nodes)
      })
      return (successor as ClusterNode).server
    },
    async slotMove(key, target) {
      const { slot, owner, nodes } = await placeOf(key)
      const primaries = nodes.filter(({ primaryId }) => primaryId === undefined).map(({ server }) => server)
      const next = primaries[(primaries.indexOf(owner.server) + 1) % primaries.length] as RedisServer
      return new SlotMove(slot, owner.server, target ?? next, primaries)
    },
  }
}

/** Whether a node has become a primary, and all nodes agree. */
const isAgreed = (node: ClusterNode, nodes: readonly ClusterNode[]): boolean =>
  node.primaryId === undefined && nodes.every(({ primaries }) => primaries.includes(node.id))

/** Slots are divided into equal ranges: the first goes to the first node, the last to the last. */
const nodeIndex = (slot: number, count: number): number => Math.floor((slot * count) / slotCount)

async function form(servers: readonly RedisServer[], count: number): Promise<void> {
  const slots = Array.from({ length: slotCount }, (_, slot) => slot)
  const primaries = servers.slice(0, count)
  for (const [index, node] of primaries.entries()) {
    // Nodes that share an epoch would first have to resolve that.
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
    await node.command('CLUSTER', 'ADDSLOTS', ...slots.filter((slot) => nodeIndex(slot, count) === index))
  }
  const [first, ...others] = servers
  for (const other of others) await first?.command('CLUSTER', 'MEET', other.host, other.port)

  await until('every node of the cluster knows the others', async () => {
    const nodes = await clusterNodes(servers)
    return nodes.length === servers.length && nodes.every(({ known }) => known === servers.length)
  })
  await Promise.all(
    servers.slice(count).map((replica, index) => follow(replica, primaries[index % count] as RedisServer)),
  )
  const replicas = servers.length - count
  await until('the cluster is complete', async () => {
    const nodes = await clusterNodes(servers)
    return (
      nodes.every(({ following }) => following.size === replicas) &&
      (await Promise.all(servers.map((server) => isComplete(server, count)))).every(Boolean)
    )
  })
}

async function follow(replica: RedisServer, primary: RedisServer): Promise<void> {
  await replica.command('CLUSTER', 'REPLICATE', String(await primary.command('CLUSTER', 'MYID')))
  await replicated(replica)
}

async function isComplete(server: RedisServer, primaries: number): Promise<boolean> {
  const info = String(await server.command('CLUSTER', 'INFO'))
  return (
    info.includes('cluster_state:ok') &&
    info.includes(`cluster_slots_assigned:${slotCount}`) &&
    info.includes(`cluster_size:${primaries}\r`)
  )
}
