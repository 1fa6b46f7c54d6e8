import { accessSync, constants, statSync } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import { installRedisTools } from './install-redis-tools.ts'

/** A program that runs as a Redis server, and the name to start it by. */
export interface RedisProgram {
  readonly path: string
  /**
   * The program checks the name that it was started by: as `redis-check-rdb`, its name in Debian's `redis-tools`, it
   * would check a file instead of serving.
   */
  readonly argv0: string
}

/** The environment variable that names the server program to use, whatever is on the PATH. */
const redisProgramVariable = 'LEASEHOLD_REDIS_SERVER'

const names = ['redis-server', 'valkey-server', 'redis-check-rdb']

/**
 * Looks for a Redis or Valkey server; returns undefined if there is none. Never installs anything.
 *
 * @throws Error if `LEASEHOLD_REDIS_SERVER` names something that cannot be run.
 */
export function findRedis(env: NodeJS.ProcessEnv = process.env): RedisProgram | undefined {
  const chosen = env[redisProgramVariable]
  if (chosen) {
    if (!isExecutable(chosen)) throw new Error(`${redisProgramVariable} names ${chosen}, which is not a program`)
    return programAt(chosen)
  }
  for (const name of names) {
    const path = findOnPath(name, env)
    if (path) return programAt(path)
  }
  return undefined
}

/**
 * Finds a server, or installs one where that needs no prompt: as root on a system with `apt-get`.
 *
 * @throws Error that says what to install.
 */
export async function ensureRedis(env: NodeJS.ProcessEnv = process.env): Promise<RedisProgram> {
  const found = findRedis(env)
  if (found) return found
  const aptGet = findOnPath('apt-get', env)
  const problem =
    aptGet && process.getuid?.() === 0
      ? await installRedisTools(aptGet, () => findRedis(env) !== undefined)
      : 'it can only be installed for you as root on a system with apt-get'
  const installed = findRedis(env)
  if (installed) return installed
  throw new Error(
    `No Redis server was found (${problem}). Install the package redis-tools or redis-server (Debian, Ubuntu), ` +
      `redis (Alpine, Fedora, Homebrew) or valkey, or set ${redisProgramVariable} to the path of a server program.`,
  )
}

const programAt = (path: string): RedisProgram => ({
  path,
  argv0: basename(path) === 'redis-check-rdb' ? 'redis-server' : basename(path),
})

function findOnPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    // Missing, or not executable for us: either way not a program.
    return false
  }
}
