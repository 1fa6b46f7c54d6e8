import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { removeFolder } from './orphans.ts'
import { connectRedisAdmin } from './redis-admin.ts'
import { ensureRedis, type RedisProgram } from './redis-binary.ts'
import { endRedis, launchRedis, RedisStartError } from './redis-process.ts'
import type { RedisReply } from './resp.ts'

export interface RedisServerOptions {
  /** Default: a free one. */
  readonly port?: number
  /** Further arguments for the server program, such as `['--maxmemory', '10mb']`. */
  readonly args?: readonly string[]
  /** Makes it a replica of this server, and waits until it has the server's data. */
  readonly replicaOf?: { readonly port: number }
}

/** How often a free port is asked for when somebody else was quicker each time. */
const portTries = 5
const replicationDeadlineMs = 15_000
const checkEveryMs = 20

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
  try {
    for (let tries = 1; ; tries++) {
      const port = options.port ?? (await freePort())
      try {
        const child = await launchRedis({ program, port, folder, args })
        const server = new RedisServer(program, port, folder, args, child)
        if (options.replicaOf) await replicated(server)
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

/** A running server, and what can happen to one. Made by `startRedis`. */
export class RedisServer implements AsyncDisposable {
  readonly host = '127.0.0.1'
  readonly port: number
  readonly url: string
  readonly #program: RedisProgram
  readonly #folder: string
  readonly #args: readonly string[]
  #child: ChildProcess

  constructor(program: RedisProgram, port: number, folder: string, args: readonly string[], child: ChildProcess) {
    this.#program = program
    this.port = port
    this.url = `redis://${this.host}:${port}`
    this.#folder = folder
    this.#args = args
    this.#child = child
  }

  /** Of the present process: a restart changes it. */
  get pid(): number {
    return this.#child.pid as number
  }

  /** One command over a connection of its own, so that it works after a restart as before. */
  async command(...args: readonly (string | number)[]): Promise<RedisReply> {
    await using admin = await connectRedisAdmin({ port: this.port })
    return await admin.command(...args)
  }

  /** The process stands still: connections stay open and are accepted, nothing is answered. */
  pause(): void {
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  /** The process dies on the spot, as in a crash. */
  kill(): Promise<void> {
    return endRedis(this.#child, 'SIGKILL')
  }

  /**
   * Ends the server, if it still runs, and starts it on the same port: empty, or with the data it had (`keepData`, for
   * which the server must still run and answer).
   */
  async restart({ keepData = false }: { readonly keepData?: boolean } = {}): Promise<void> {
    if (keepData) await this.command('SAVE')
    await endRedis(this.#child, 'SIGTERM')
    if (!keepData) await rm(join(this.#folder, 'dump.rdb'), { force: true })
    this.#child = await launchRedis({
      program: this.#program,
      port: this.port,
      folder: this.#folder,
      args: this.#args,
    })
  }

  /** Ends the server and removes its files. Harmless when called twice, and after `kill`. */
  async stop(): Promise<void> {
    await endRedis(this.#child, 'SIGTERM')
    await removeFolder(this.#folder)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }
}

async function replicated(replica: RedisServer): Promise<void> {
  const deadline = AbortSignal.timeout(replicationDeadlineMs)
  while (!String(await replica.command('INFO', 'replication')).includes('master_link_status:up')) {
    if (deadline.aborted) {
      await replica.stop()
      throw new Error(`The replica on port ${replica.port} had no data after ${replicationDeadlineMs} ms`)
    }
    await sleep(checkEveryMs)
  }
}
