import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { removeFolder } from './orphans.ts'
import { connectRedisAdmin } from './redis-admin.ts'
import { ensureRedis } from './redis-binary.ts'
import { endRedis, type LaunchOptions, launchRedis, RedisStartError } from './redis-process.ts'
import type { RedisReply } from './resp.ts'
import { until } from './until.ts'

export interface RedisServerOptions {
  /** Default: a free one. */
  readonly port?: number
  /** Further arguments for the server program, such as `['--maxmemory', '10mb']`. */
  readonly args?: readonly string[]
  /** The text of a configuration file. A Sentinel needs one, and writes into it what it learns. */
  readonly config?: string
  /** Makes it a replica of this server, and waits until it has the server's data. */
  readonly replicaOf?: { readonly port: number }
}

/** How many free ports are tried if somebody else takes each one first. */
const portTries = 5

/**
 * Starts a real Redis on 127.0.0.1 that writes nothing to disk, and resolves when it answers. The server is found, or
 * installed, by `ensureRedis`. It is killed when this process ends.
 *
 * @throws Error if there is no server program, or with the end of the server's log if it does not start.
 */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const program = await ensureRedis()
  const folder = await mkdtemp(join(tmpdir(), 'leasehold-redis-'))
  const args = [...(options.replicaOf ? ['--replicaof', '127.0.0.1', String(options.replicaOf.port)] : [])]
  args.push(...(options.args ?? []))
  const config = options.config === undefined ? undefined : join(folder, 'redis.conf')
  try {
    if (config) await writeFile(config, options.config as string)
    for (let tries = 1; ; tries++) {
      const port = options.port ?? (await freePort())
      try {
        const launch = { program, port, folder, args, config }
        const server = new RedisServer(launch, await launchRedis(launch))
        if (options.replicaOf) await orStopped(server, replicated(server))
        return server
      } catch (error) {
        const otherPort = error instanceof RedisStartError && error.portTaken && options.port === undefined
        if (!otherPort || tries === portTries) throw error
      }
    }
  } catch (error) {
    await removeFolder(folder)
    throw error
  }
}

async function orStopped(server: RedisServer, ready: Promise<void>): Promise<void> {
  try {
    await ready
  } catch (error) {
    await server.stop()
    throw error
  }
}

/** A running server, with methods for what can happen to one. Made by `startRedis`. */
export class RedisServer implements AsyncDisposable {
  readonly host = '127.0.0.1'
  readonly port: number
  readonly url: string
  readonly #launch: LaunchOptions
  #child: ChildProcess

  constructor(launch: LaunchOptions, child: ChildProcess) {
    this.port = launch.port
    this.url = `redis://${this.host}:${launch.port}`
    this.#launch = launch
    this.#child = child
  }

  /** The pid of the present process: a restart changes it. */
  get pid(): number {
    return this.#child.pid as number
  }

  /** Sends one command over a connection of its own, so that it works after a restart too. */
  async command(...args: readonly (string | number)[]): Promise<RedisReply> {
    await using admin = await connectRedisAdmin({ port: this.port })
    return await admin.command(...args)
  }

  /** Suspends the process: connections stay open and are accepted, and nothing is answered. */
  pause(): void {
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  /** Kills the process on the spot, as in a crash. */
  kill(): Promise<void> {
    return endRedis(this.#child, 'SIGKILL')
  }

  /**
   * Ends the server, if it still runs, and starts it again on the same port: empty, or with the data it had
   * (`keepData`, for which the server must still run and answer).
   */
  async restart({ keepData = false }: { readonly keepData?: boolean } = {}): Promise<void> {
    if (keepData) await this.command('SAVE')
    await endRedis(this.#child, 'SIGTERM')
    if (!keepData) await rm(join(this.#launch.folder, 'dump.rdb'), { force: true })
    this.#child = await launchRedis(this.#launch)
  }

  /** Cuts a replica off from its primary, as when the link between them is cut. The replica keeps its data. */
  async stopReplication(): Promise<void> {
    // A primary without a password turns away a replica that sends one.
    await this.command('CONFIG', 'SET', 'masterauth', 'nobody-asks-for-it')
    await this.command('CLIENT', 'KILL', 'TYPE', 'master')
  }

  /** Undoes `stopReplication`: the replica reconnects within a second, and catches up. */
  async resumeReplication(): Promise<void> {
    await this.command('CONFIG', 'SET', 'masterauth', '')
  }

  /** Resolves with how many replicas have everything written so far: at least `count`, or fewer after `withinMs`. */
  async replicatedTo(count: number, withinMs = 5_000): Promise<number> {
    await using admin = await connectRedisAdmin({ port: this.port, deadlineMs: withinMs + 5_000 })
    // WAIT goes by what the server had written at the last command of the same connection.
    await admin.command('PING')
    return Number(await admin.command('WAIT', count, withinMs))
  }

  /**
   * Makes a replica a primary with the data that it has, whether or not the old primary lives. In a cluster it takes
   * over the slots of its primary.
   */
  async promote(): Promise<void> {
    const inCluster = String(await this.command('INFO', 'cluster')).includes('cluster_enabled:1')
    await this.resumeReplication()
    await this.command(...(inCluster ? ['CLUSTER', 'FAILOVER', 'TAKEOVER'] : ['REPLICAOF', 'NO', 'ONE']))
  }

  /** Ends the server and removes its files. Harmless when called twice, or after `kill`. */
  async stop(): Promise<void> {
    await endRedis(this.#child, 'SIGTERM')
    await removeFolder(this.#launch.folder)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }
}

/** Resolves when a replica has its primary's data. */
export const replicated = (replica: RedisServer): Promise<void> =>
  until(`the replica on port ${replica.port} has its primary's data`, async () =>
    String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
  )
