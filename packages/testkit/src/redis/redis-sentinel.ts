import { type RedisServer, startRedis } from './redis-server.ts'
import { until } from './until.ts'

/** The name that the Sentinels know the primary by. */
const name = 'leasehold'

export interface RedisSentinelOptions {
  /** How many replicas the primary has; default 2. */
  readonly replicas?: number
  /** How many Sentinels there are; default 3. More than half of them have to agree on a failover. */
  readonly sentinels?: number
  /** How long the primary may stay silent before a Sentinel considers it down, in milliseconds; default 1,000. */
  readonly downAfterMs?: number
  /** Further arguments for each data server. */
  readonly args?: readonly string[]
}

/**
 * A running primary with its replicas and Sentinels, with methods for what can happen. Made by `startRedisSentinel`.
 */
export interface RedisSentinel extends AsyncDisposable {
  /** The name that a client asks the Sentinels for. */
  readonly name: string
  readonly sentinels: readonly RedisServer[]
  /** The data servers: the first primary, then its replicas. */
  readonly nodes: readonly RedisServer[]
  /** The primary, as the Sentinels know it now. */
  primary(): Promise<RedisServer>
  /** The data servers that answer, except the primary. */
  replicas(): Promise<readonly RedisServer[]>
  /**
   * Makes the Sentinels promote a replica though the primary lives, as for maintenance. They do not wait for the
   * replica to have all of the primary's data. Resolves with the new primary when all Sentinels know it.
   */
  failOver(): Promise<RedisServer>
  /** Resolves with the new primary when all Sentinels that answer name another than `node`, and it takes writes. */
  successorOf(node: RedisServer): Promise<RedisServer>
  /** Resolves when a server is a replica that has the data of the present primary. */
  rejoined(node: RedisServer): Promise<void>
  stop(): Promise<void>
}

/** Starts a real primary with replicas and Sentinels on 127.0.0.1, and resolves when they all know each other. */
export async function startRedisSentinel(options: RedisSentinelOptions = {}): Promise<RedisSentinel> {
  const { replicas = 2, sentinels: count = 3, downAfterMs = 1_000, args = [] } = options
  const nodes: RedisServer[] = []
  const sentinels: RedisServer[] = []
  const stop = async (): Promise<void> => {
    // The Sentinels stop first: they would begin a failover as soon as the primary has ended.
    await Promise.all(sentinels.map((sentinel) => sentinel.stop()))
    await Promise.all(nodes.map((node) => node.stop()))
  }
  try {
    const primary = await startRedis({ args })
    nodes.push(primary)
    await addAll(nodes, replicas, () => startRedis({ args, replicaOf: primary }))
    const config = sentinelConfig(primary.port, Math.floor(count / 2) + 1, downAfterMs)
    await addAll(sentinels, count, () => startRedis({ config, args: ['--sentinel'] }))
    await setPeriods(sentinels, { ...quickly, ...pingEvery, ...formingEvery })
    await until('the Sentinels know each other and the replicas', async () =>
      (await Promise.all(sentinels.map((sentinel) => stateAt(sentinel)))).every(
        (state) => state['num-slaves'] === String(replicas) && state['num-other-sentinels'] === String(count - 1),
      ),
    )
    await setPeriods(sentinels, tellingEvery)
  } catch (error) {
    await stop()
    throw error
  }
  return { name, sentinels, nodes, ...callsOf(sentinels, nodes), stop, [Symbol.asyncDispose]: stop }
}

/** Starts several servers at once, and keeps those that did start, even if others fail. */
async function addAll(servers: RedisServer[], count: number, start: () => Promise<RedisServer>): Promise<void> {
  const started = await Promise.allSettled(Array.from({ length: count }, start))
  for (const result of started) if (result.status === 'fulfilled') servers.push(result.value)
  for (const result of started) if (result.status === 'rejected') throw result.reason
}

const sentinelConfig = (port: number, quorum: number, downAfterMs: number): string =>
  [
    `sentinel monitor ${name} 127.0.0.1 ${port} ${quorum}`,
    `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
    // Sentinels do not retry a failover within twice this time.
    `sentinel failover-timeout ${name} 5000`,
    `sentinel parallel-syncs ${name} 5`,
    '',
  ].join('\n')

/** In milliseconds. By default a Sentinel polls every 1 or 10 s, and rests for 30 s when its clock jumps: too slow. */
const quickly = { INFO: 200, ASK: 100, TILT: 1_000 }
/** A Sentinel promotes no replica unheard for five of these, and asks each once a second while the primary is down. */
const pingEvery = { PING: 500 }
/** Short, so that the Sentinels find each other at once. */
const formingEvery = { PUBLISH: 100 }
/**
 * After four of these a Sentinel undoes a promotion that it was not told of. The promoting one takes a second to tell.
 */
const tellingEvery = { PUBLISH: 500 }

async function setPeriods(sentinels: readonly RedisServer[], periods: Readonly<Record<string, number>>): Promise<void> {
  const pairs = Object.entries(periods).flatMap(([period, periodMs]) => [`${period}-PERIOD`, periodMs])
  // Redis 7 and Valkey have this command. Other servers keep their own periods.
  const set = (sentinel: RedisServer): Promise<unknown> =>
    sentinel.command('SENTINEL', 'DEBUG', ...pairs).catch(() => undefined)
  await Promise.all(sentinels.map(set))
}

type SentinelCalls = Pick<RedisSentinel, 'primary' | 'replicas' | 'failOver' | 'successorOf' | 'rejoined'>

function callsOf(sentinels: readonly RedisServer[], nodes: readonly RedisServer[]): SentinelCalls {
  const nodeAt = (port: string | undefined): RedisServer | undefined => nodes.find((node) => String(node.port) === port)

  /** What the Sentinels that answer know, the latest first. */
  async function states(): Promise<readonly Readonly<Record<string, string>>[]> {
    const answers = await Promise.allSettled(sentinels.map(stateAt))
    const known = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    return known.sort((one, other) => Number(other['config-epoch']) - Number(one['config-epoch']))
  }
  async function primary(): Promise<RedisServer> {
    const node = nodeAt((await states())[0]?.['port'])
    if (!node) throw new Error('No Sentinel answers')
    return node
  }
  async function successorOf(before: RedisServer): Promise<RedisServer> {
    let successor = before
    await until('the Sentinels have promoted another server', async () => {
      const ports = new Set((await states()).map(({ port }) => port))
      const [port] = ports
      successor = nodeAt(port) ?? before
      return ports.size === 1 && successor !== before && (await roleOf(successor))[0] === 'master'
    })
    return successor
  }
  return {
    primary,
    successorOf,
    async replicas() {
      const roles = await Promise.allSettled(nodes.map(roleOf))
      const current = await primary()
      return nodes.filter((node, index) => roles[index]?.status === 'fulfilled' && node !== current)
    },
    async failOver() {
      const before = await primary()
      // A failover that has just ended, or that another Sentinel leads, blocks a new one for a moment.
      await until('a Sentinel begins a failover', async () => {
        return (await sentinels[0]?.command('SENTINEL', 'FAILOVER', name)) === 'OK'
      })
      return successorOf(before)
    },
    async rejoined(node) {
      await until('the server is a replica of the present primary', async () => {
        const [role, , port, state] = await roleOf(node)
        return role === 'slave' && state === 'connected' && port === (await primary()).port
      })
    },
  }
}

const roleOf = async (node: RedisServer): Promise<readonly unknown[]> =>
  (await node.command('ROLE')) as readonly unknown[]

/** What a Sentinel knows about the primary. */
async function stateAt(sentinel: RedisServer): Promise<Readonly<Record<string, string>>> {
  const fields = (await sentinel.command('SENTINEL', 'MASTER', name)) as string[]
  return Object.fromEntries(fields.flatMap((field, at) => (at % 2 === 0 ? [[field, fields[at + 1] ?? '']] : [])))
}
