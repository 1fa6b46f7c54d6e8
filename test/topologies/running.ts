import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { afterAll, beforeAll } from 'vitest'
import type { Address, Connection, Options, TopologyClient } from './clients.ts'
import { type Kind, type Topology, topologies } from './topology.ts'

/** The topologies while the tests of a file run. */
export interface Running {
  of(kind: Kind): Topology
  connect(kind: Kind, client: TopologyClient, options?: Options): Connection
  readonly all: readonly Topology[]
}

/** Starts the servers of topologies before the tests of a file, and stops them after those. */
export function runTopologies(kinds: readonly Kind[] = topologies): Running {
  const started = new Map<Kind['start'], Topology>()
  beforeAll(async () => {
    const starts = [...new Set(kinds.map(({ start }) => start))]
    await Promise.all(starts.map(async (start) => started.set(start, await start())))
  })
  afterAll(async () => {
    for (const topology of started.values()) await topology.stop()
  })
  const of = ({ start }: Kind): Topology => started.get(start) as Topology
  return {
    of,
    connect: (kind, client, options) => kind.connect(client, of(kind).given, options),
    get all() {
      return [...started.values()]
    },
  }
}

/** A network between the clients and all the servers of a topology. */
export interface Network {
  /** One before each server. */
  readonly proxies: readonly TcpProxy[]
  connect(client: TopologyClient): Connection
  stop(): Promise<void>
}

export async function startNetwork(kind: Kind, { servers, given }: Topology): Promise<Network> {
  const ports = [...new Set([...servers, ...given].map(({ port }) => port))]
  const proxies = await Promise.all(ports.map((port) => startTcpProxy({ port })))
  const host = '127.0.0.1'
  const through = Object.fromEntries(
    ports.map((port, at) => [`${host}:${port}`, { host, port: (proxies[at] as TcpProxy).port }]),
  )
  return {
    proxies,
    connect: (client) =>
      kind.connect(
        client,
        given.map(({ port }) => through[`${host}:${port}`] as Address),
        { through },
      ),
    async stop() {
      await Promise.all(proxies.map((proxy) => proxy.stop()))
    },
  }
}
