import { connectRedisAdmin, type RedisAdmin } from '@leasehold/testkit/redis'
import type { Topology } from './topology.ts'

/** What the servers of a topology have, replicas included. */
export interface Entries {
  /** How many entries there are of each record of a lock. */
  readonly records: Readonly<Record<string, number>>
  /** The entries that never expire, and those in another slot than their lock. */
  readonly faults: readonly string[]
}

export async function entriesOf({ servers }: Topology): Promise<Entries> {
  const records: Record<string, number> = {}
  const faults: string[] = []
  async function check(admin: RedisAdmin, name: string): Promise<void> {
    const { lock, record } = entryOf(name)
    records[record] = (records[record] ?? 0) + 1
    const [left, ...slots] = await Promise.all([admin.command('PTTL', name), slotOf(admin, name), slotOf(admin, lock)])
    // It is -2 for an entry that has expired since.
    if (Number(left) === -1) faults.push(`${name} never expires`)
    if (slots[0] !== slots[1]) faults.push(`${name} is not in the slot of ${lock}`)
  }
  for (const { port } of servers) {
    await using admin = await connectRedisAdmin({ port, deadlineMs: 60_000 })
    // So that a cluster replica answers for its primary's keys.
    await admin.command('READONLY').catch(ifNoCluster)
    const names = (await admin.command('KEYS', '*')) as string[]
    await Promise.all(names.map((name) => check(admin, name)))
  }
  return { records, faults }
}

/** Undefined where there are no slots. */
const slotOf = (admin: RedisAdmin, name: string): Promise<unknown> =>
  admin.command('CLUSTER', 'KEYSLOT', name).catch(ifNoCluster)

function ifNoCluster(error: unknown): void {
  if (!String(error).includes('cluster support disabled')) throw error
}

/** The name of the lock that an entry belongs to, and which of its records it is. See `docs/operating.md`. */
function entryOf(name: string): { readonly lock: string; readonly record: string } {
  const [, tag = '', rest = ''] = /^\{([^}]+)\}:(.+)$/.exec(name) ?? []
  if (!tag) return { lock: name, record: 'lock' }
  const end = rest.lastIndexOf(':')
  return { lock: end < 0 ? tag : rest.slice(0, end), record: rest.slice(end + 1) }
}
