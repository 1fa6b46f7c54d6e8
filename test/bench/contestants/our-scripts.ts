import { randomUUID } from 'node:crypto'
import { acquire } from '../../../packages/core/src/redis/scripts/generated/acquire.ts'
import { release } from '../../../packages/core/src/redis/scripts/generated/release.ts'
import type { Script } from '../../../packages/core/src/redis/scripts/script.ts'
import { batchesOf } from './batches.ts'
import { connectIoredis } from './connect-ioredis.ts'
import { connectNodeRedis } from './connect-node-redis.ts'
import { type Client, type Contestant, ttlMs as defaultTtlMs, type Held, type Locks } from './contestant.ts'
import { restClient } from './rest-client.ts'

/*
 * Our own scripts, called by hand: no locker, no lease, no deadline, no retry. The difference is what the library adds.
 * Keys and arguments are written as the store writes them, and the compiler checks their number against the scripts.
 */

/** Runs one command and returns its reply. */
type Send = (command: 'EVALSHA' | 'EVAL', ...args: (string | number)[]) => Promise<unknown>

type Request<Keys, Each> = readonly [keys: Keys, each: Each]
type Run = <Keys extends string[], Each extends string[], Args extends string[]>(
  script: Script<Args, Keys, Each>,
  args: Args,
) => (request: Request<Keys, Each>) => Promise<unknown>

/** As many as a command of the library takes. */
const batchSize = 64
/** As many as the library reserves with a grant. */
const fences = '17'

export const scriptsIoredis: Contestant = byScripts('scripts-ioredis', 'ioredis', overIoredis, oneByOne)
export const batchedIoredis: Contestant = byScripts('scripts-batched-ioredis', 'ioredis', overIoredis, batched)
export const scriptsNodeRedis: Contestant = byScripts('scripts-node-redis', 'node-redis', overNodeRedis, oneByOne)
export const batchedNodeRedis: Contestant = byScripts(
  'scripts-batched-node-redis',
  'node-redis',
  overNodeRedis,
  batched,
)
export const scriptsFetch: Contestant = byScripts('scripts-fetch', 'http', overFetch, oneByOne)
export const batchedFetch: Contestant = byScripts('scripts-batched-fetch', 'http', overFetch, batched)

function byScripts(
  name: string,
  client: Client,
  connect: (port: number) => Promise<Send>,
  runBy: (send: Send) => Run,
): Contestant {
  return {
    name,
    role: 'floor',
    client,
    sends: ['evalsha', 'eval'],
    async connect(port) {
      const send = await connect(port)
      // With no keys a script does nothing, and the server knows it from then on.
      for (const { text } of [acquire, release]) await send('EVAL', text, 0, '0')
      return locksBy(runBy(send))
    },
  }
}

function locksBy(run: Run): Locks {
  const runAcquire = run(acquire, ['600000'])
  const runRelease = run(release, ['released'])
  return {
    async acquire(key, ttlMs = defaultTtlMs): Promise<Held> {
      const keys: [string, string] = [`lock:${key}`, `{lock:${key}}:fence`]
      const id = randomUUID().replaceAll('-', '')
      const token = await runAcquire([keys, [id, String(ttlMs), fences]])
      if (typeof token !== 'string') throw new Error(`${key} is ${token}`)
      return { release: () => runRelease([keys, [token, `lock:release:${key}`]]) }
    },
  }
}

function oneByOne(send: Send): Run {
  return ({ sha1 }, args) =>
    async ([keys, each]) =>
      ((await send('EVALSHA', sha1, keys.length, ...keys, ...args, ...each)) as unknown[])[0]
}

function batched(send: Send): Run {
  return ({ sha1 }, args) =>
    batchesOf(async (requests) => {
      const keys = requests.flatMap(([their]) => their)
      const each = requests.flatMap(([, their]) => their)
      return (await send('EVALSHA', sha1, keys.length, ...keys, ...args, ...each)) as unknown[]
    }, batchSize)
}

async function overIoredis(port: number): Promise<Send> {
  const redis = await connectIoredis(port)
  return (command, body, keys, ...rest) =>
    command === 'EVAL'
      ? redis.eval(body as string, keys as number, ...rest)
      : redis.evalsha(body as string, keys as number, ...rest)
}

/** Without the timer that the client sets for each command, like our transport. */
async function overNodeRedis(port: number): Promise<Send> {
  const redis = await connectNodeRedis(port, { commandOptions: { timeout: undefined } })
  return (...words) => redis.sendCommand(words.map(String))
}

async function overFetch(port: number): Promise<Send> {
  const command = restClient(port)
  return (...args) => command(args)
}
