import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endWithParent } from './orphans.ts'
import { connectRedisAdmin } from './redis-admin.ts'
import type { RedisProgram } from './redis-binary.ts'

const startDeadlineMs = 15_000
/** The time between two checks of a starting server. */
const checkEveryMs = 10
/**
 * How long a server may take to end when asked, in milliseconds; it may be waiting for a replica, or busy in a script.
 */
const endDeadlineMs = 2_000

/** Why a server did not start. With `portTaken`, a try with another port may succeed. */
export class RedisStartError extends Error {
  readonly portTaken: boolean

  constructor(message: string, portTaken: boolean) {
    super(message)
    this.name = 'RedisStartError'
    this.portTaken = portTaken
  }
}

export interface LaunchOptions {
  readonly program: RedisProgram
  readonly port: number
  /** Where the server keeps its files and its log. Removed with the server if this process dies. */
  readonly folder: string
  readonly args: readonly string[]
  /** A configuration file in that folder, if the server is to have one. */
  readonly config?: string | undefined
}

/**
 * Starts one server process and resolves when it answers.
 *
 * @throws RedisStartError with the end of the server's log.
 */
export async function launchRedis({ program, port, folder, args, config }: LaunchOptions): Promise<ChildProcess> {
  const log = join(folder, 'redis.log')
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--logfile', log]
  // A primary would wait 5 s for more replicas before it serves the first.
  const habits = ['--save', '', '--appendonly', 'no', '--repl-diskless-sync-delay', '0']
  const child = spawn(program.path, [...(config ? [config] : []), ...place, ...habits, ...args], {
    argv0: program.argv0,
    stdio: 'ignore',
  })
  if (child.pid === undefined) throw (await once(child, 'error'))[0]
  endWithParent(child, folder)

  const deadline = AbortSignal.timeout(startDeadlineMs)
  while (!(await answers(port, child.pid))) {
    if (hasEnded(child) || deadline.aborted) {
      await endRedis(child, 'SIGKILL')
      const said = (await readFile(log, 'utf8').catch(() => 'it left no log')).trim().split('\n').slice(-5).join('\n')
      const reason = deadline.aborted ? `did not answer within ${startDeadlineMs} ms` : 'ended at once'
      throw new RedisStartError(`${program.path} ${reason}: ${said}`, /address already in use/i.test(said))
    }
    await sleep(checkEveryMs)
  }
  // A test that forgets its server should end, not hang; the server is then killed.
  child.unref()
  return child
}

/** Ends a process and waits until it is gone. A process that does not heed SIGTERM in time is killed. */
export async function endRedis(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (hasEnded(child)) return
  child.ref()
  const ended = once(child, 'exit')
  child.kill(signal)
  // A stopped process receives SIGTERM only once it continues.
  child.kill('SIGCONT')
  const timer = setTimeout(() => child.kill('SIGKILL'), endDeadlineMs)
  await ended
  clearTimeout(timer)
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

/**
 * Whether this very process answers on the port. Another server may have taken the port first; then ours is about to
 * end, and the other's PONG must not be taken for ours. A server that asks for a password cannot be told apart.
 */
async function answers(port: number, pid: number): Promise<boolean> {
  try {
    await using admin = await connectRedisAdmin({ port, deadlineMs: 1_000 })
    if ((await admin.command('PING')) !== 'PONG') return false
    return String(await admin.command('INFO', 'server')).includes(`process_id:${pid}\r\n`)
  } catch (error) {
    // Not listening yet, or still loading its data.
    return (error as Error).message.startsWith('NOAUTH')
  }
}
