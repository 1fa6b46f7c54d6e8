import { connectRedisAdmin, redisStoreAccess } from '@leasehold/testkit/redis'
import type { Servers } from './declare.ts'

/** What `storeConformance` needs in addition to a store over TCP. */
export async function tcpAccess({ port }: Servers['redis'], prefix: string) {
  const { command, close } = await connectRedisAdmin({ port })
  return { ...redisStoreAccess([{ port, command }], prefix), close }
}

export async function setLink({ url }: Servers['link'], to: 'accept' | 'refuse'): Promise<void> {
  await (await fetch(`${url}/${to}`)).text()
}
