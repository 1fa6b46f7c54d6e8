import { setTimeout as sleep } from 'node:timers/promises'
import { type RedisServer, startRedis } from './redis-server.ts'

const slotCount = 16_384
const formDeadlineMs = 20_000
const checkEveryMs = 20

export interface RedisClusterOptions {
  /** How many primaries share the slots; default 3. There are no replicas. */
  readonly nodes?: number
  /** Further arguments for each server program. */
  readonly args?: readonly string[]
}

export interface RedisCluster extends AsyncDisposable {
  readonly nodes: readonly RedisServer[]
  /** The node that has the slot of a key. */
  nodeOf(key: string): Promise<RedisServer>
  stop(): Promise<void>
}

/** Starts a real Redis Cluster of primaries on 127.0.0.1, and resolves when every node knows it to be complete. */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const count = options.nodes ?? 3
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', ...(options.args ?? [])]
  const started = await Promise.allSettled(
    // A node learns its own address from others; until then it would tell clients an empty one.
    Array.from({ length: count }, () => startRedis({ args: ['--cluster-announce-ip', '127.0.0.1', ...args] })),
  )
  const nodes = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()))
  }
  try {
    for (const result of started) if (result.status === 'rejected') throw result.reason
    await form(nodes)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    nodes,
    async nodeOf(key) {
      const slot = Number(await nodes[0]?.command('CLUSTER', 'KEYSLOT', key))
      return nodes[nodeIndex(slot, count)] as RedisServer
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Slots are dealt in equal runs: the first to the first node, the last to the last. */
const nodeIndex = (slot: number, count: number): number => Math.floor((slot * count) / slotCount)

async function form(nodes: readonly RedisServer[]): Promise<void> {
  const slots = Array.from({ length: slotCount }, (_, slot) => slot)
  for (const [index, node] of nodes.entries()) {
    // Nodes that share an epoch would first have to argue about it.
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
    await node.command('CLUSTER', 'ADDSLOTS', ...slots.filter((slot) => nodeIndex(slot, nodes.length) === index))
  }
  const [first, ...others] = nodes
  for (const other of others) await first?.command('CLUSTER', 'MEET', other.host, other.port)

  const deadline = AbortSignal.timeout(formDeadlineMs)
  while (!(await Promise.all(nodes.map((node) => isComplete(node, nodes.length)))).every(Boolean)) {
    if (deadline.aborted) throw new Error(`The cluster was not complete after ${formDeadlineMs} ms`)
    await sleep(checkEveryMs)
  }
}

async function isComplete(node: RedisServer, count: number): Promise<boolean> {
  const info = String(await node.command('CLUSTER', 'INFO'))
  return (
    info.includes('cluster_state:ok') &&
    info.includes(`cluster_slots_assigned:${slotCount}`) &&
    info.includes(`cluster_known_nodes:${count}\r`)
  )
}
