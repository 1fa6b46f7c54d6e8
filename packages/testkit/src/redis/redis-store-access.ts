import { setTimeout as sleep } from 'node:timers/promises'
import type { Listening, StoreAdmin, StoreUnderTest } from '../conformance/store-under-test.ts'
import { connectRedisAdmin } from './redis-admin.ts'
import type { RedisServer } from './redis-server.ts'
import type { RedisReply } from './resp.ts'

/** Timers and Redis both keep whole milliseconds: what should be over is certainly over this much later. */
const marginMs = 10

/** A server that may have been started by somebody else. */
type Node = Pick<RedisServer, 'port' | 'command'>

/**
 * What `storeConformance` needs besides a Redis store: access to its server, or to all nodes of its cluster, behind the
 * store's back.
 */
export function redisStoreAccess(
  nodes: readonly Node[],
  prefix: string,
): Required<Pick<StoreUnderTest, 'admin' | 'advance' | 'listen' | 'listenInbox' | 'skip'>> {
  return {
    admin: storeAdmin(nodes, prefix),
    advance: (ms) => sleep(ms + marginMs),
    // A message published on one node reaches subscribers on every node.
    listen: (key) => listen(nodes[0] as Node, `${prefix}release:${key}`),
    listenInbox: (inbox) => listen(nodes[0] as Node, `${prefix}turn:${inbox}`),
    skip: {
      'wall-clock': 'the clock of a Redis server is the machine’s',
      'long-times': 'time really passes',
      ...(nodes.length > 1 && { 'subscriber-count': uncounted, 'inbox-count': uncounted }),
    },
  }
}

const uncounted = 'a node of a cluster counts only its own subscribers'

function storeAdmin(nodes: readonly Node[], prefix: string): StoreAdmin {
  /** Asks the node that has the key. */
  async function ask(command: string, key: string, ...args: readonly (string | number)[]): Promise<RedisReply> {
    for (const node of nodes) {
      try {
        return await node.command(command, key, ...args)
      } catch (error) {
        if (!(error as Error).message.startsWith('MOVED')) throw error
      }
    }
    throw new Error(`No node has the slot of ${key}`)
  }
  async function expiresInMs(name: string): Promise<number | null | undefined> {
    const left = Number(await ask('PTTL', name))
    if (left === -2) return undefined
    return left === -1 ? null : left
  }
  return {
    async remove(key) {
      await ask('DEL', prefix + key)
    },
    async replace(key, ms, value = 'foreign-holder') {
      await ask('SET', prefix + key, value, ...(ms === null ? [] : ['PX', ms]))
    },
    expiresInMs: (key) => expiresInMs(prefix + key),
    async entriesOf(key) {
      const pattern = `*${key.replace(/[\\*?[\]]/g, '\\$&')}*`
      const names = (await Promise.all(nodes.map((node) => node.command('KEYS', pattern)))).flat()
      const entries = names.map(async (name) => ({ name: String(name), expiresInMs: await expiresInMs(String(name)) }))
      return (await Promise.all(entries)).flatMap(({ name, expiresInMs: left }) =>
        left === undefined ? [] : [{ name, expiresInMs: left }],
      )
    },
  }
}

async function listen({ port }: Node, channel: string): Promise<Listening> {
  const payloads: string[] = []
  const onMessage = (message: RedisReply): void => {
    payloads.push(String((message as readonly RedisReply[])[2]))
  }
  const subscriber = await connectRedisAdmin({ port, onMessage })
  await subscriber.command('SUBSCRIBE', channel)
  return {
    payloads,
    async close() {
      // The server counts a subscriber until it notices that the connection is gone.
      await subscriber.command('UNSUBSCRIBE', channel)
      await subscriber.close()
    },
  }
}
