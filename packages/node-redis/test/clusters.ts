import * as redis6 from 'redis'
import * as redis4 from 'redis-4'
import * as redis5 from 'redis-5'
import type { NodeRedisCluster } from '../src/index.ts'
import { type ClientOptions, soak } from './clients.ts'

export interface Address {
  readonly host: string
  readonly port: number
}

/** The options common to all cluster clients that tests use. */
export interface ClusterOptions {
  rootNodes: { socket: Address }[]
  defaults?: ClientOptions
  minimizeConnections?: boolean
  nodeAddressMap?: (address: string) => Address
}

/** What tests use of a cluster client beyond that. */
export interface TestCluster extends NodeRedisCluster {
  connect(): Promise<unknown>
  listenerCount(event: string): number
  /** Missing in node-redis 4. */
  destroy?(): void
  disconnect?(): Promise<unknown>
}

/** The versions that the adapter is made for: each of its claims holds with each of them. */
export const clusters: readonly { readonly name: string; create(options: ClusterOptions): TestCluster }[] = [
  { name: 'node-redis 6', create: (options) => redis6.createCluster(options as never) as unknown as TestCluster },
  { name: 'node-redis 5', create: (options) => redis5.createCluster(options as never) as unknown as TestCluster },
  { name: 'node-redis 4', create: (options) => redis4.createCluster(options as never) as unknown as TestCluster },
]

/** `npm test` runs the claims over the newest version, the soak over all of them. */
export const testedClusters = soak ? clusters : clusters.slice(0, 1)
