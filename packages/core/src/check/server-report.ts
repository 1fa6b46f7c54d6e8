/** A server's `INFO` about itself. A field is null or empty if the server does not say. */
export interface ServerReport {
  /** `redis`, `valkey`, or what a compatible server calls itself. */
  readonly product: string
  /** The product's own version; null if the server does not say. */
  readonly version: string | null
  /** The version of Redis that the server is, or is compatible with. */
  readonly redisVersion: string | null
  readonly role: 'primary' | 'replica' | 'sentinel' | null
  readonly cluster: boolean
  readonly loading: boolean
  /** The memory limit in bytes; null if there is none, or the server does not say. */
  readonly maxMemory: number | null
  readonly usedMemory: number | null
  readonly evictionPolicy: string | null
  readonly evictedKeys: number | null
  /** Whether the server writes an append-only file. */
  readonly appendOnly: boolean | null
  /** Whether the server's last writes to disk succeeded. */
  readonly diskWorks: boolean
}

/** Servers compatible with Redis report their own version under their name. */
const products = ['valkey', 'dragonfly', 'keydb', 'garnet', 'kvrocks']

/** Parses the text of `INFO`, of any version and of compatible servers, even if parts are missing. */
export function parseServerReport(info: string): ServerReport {
  const fields = new Map(
    info.split(/\r?\n/).map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, Math.max(0, colon)), line.slice(colon + 1).trim()]
    }),
  )
  const text = (name: string): string | null => fields.get(name) || null
  const count = (name: string): number | null =>
    /^\d+$/.test(fields.get(name) ?? '') ? Number(fields.get(name)) : null
  const named = text('server_name') ?? products.find((name) => fields.has(`${name}_version`))
  const product = named ?? 'redis'
  const failed = ['rdb_last_bgsave_status', 'aof_last_write_status', 'aof_last_bgrewrite_status'].some(
    (name) => fields.get(name) === 'err',
  )
  return {
    product,
    version: text(`${product}_version`) ?? text('redis_version'),
    redisVersion: text('redis_version'),
    role: roleOf(fields),
    cluster: fields.get('redis_mode') === 'cluster' || fields.get('cluster_enabled') === '1',
    loading: fields.get('loading') === '1',
    maxMemory: count('maxmemory') || null,
    usedMemory: count('used_memory'),
    evictionPolicy: text('maxmemory_policy'),
    evictedKeys: count('evicted_keys'),
    appendOnly: fields.has('aof_enabled') ? fields.get('aof_enabled') === '1' : null,
    diskWorks: !failed,
  }
}

function roleOf(fields: ReadonlyMap<string, string>): ServerReport['role'] {
  if (fields.get('redis_mode') === 'sentinel') return 'sentinel'
  const role = fields.get('role')
  if (role === 'master' || role === 'primary') return 'primary'
  return role === undefined ? null : 'replica'
}

/** Whether a version is at least 6.2, which has all that the scripts use. True for text that is not a version. */
export function isNewEnough(redisVersion: string | null): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(redisVersion ?? '') ?? []
  return major === undefined || Number(major) > 6 || (Number(major) === 6 && Number(minor) >= 2)
}
