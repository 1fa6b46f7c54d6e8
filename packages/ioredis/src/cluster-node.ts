import { keySlot } from '@leasehold/core/redis'
import type { IoredisClient } from './ioredis-client.ts'

/** The connection that a cluster client will use for a key; undefined if it knows none yet and must ask other nodes. */
export function nodeOf(client: IoredisClient, key: string | undefined): IoredisClient | undefined {
  const name = key === undefined ? undefined : nodeNameOf(client, key)
  return client.nodes?.().find(({ options }) => `${options.host}:${options.port}` === name)
}

/** The primary of a key's slot as `host:port`, as far as the client knows. */
export const nodeNameOf = (client: IoredisClient, key: string): string | undefined => client.slots?.[keySlot(key)]?.[0]
