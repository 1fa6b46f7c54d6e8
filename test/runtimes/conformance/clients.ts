/** A way to reach the locks: some version of a client, or none. */
export interface Client {
  readonly name: string
  /** The file of `families/` that knows how to open it. */
  readonly family: 'embedded' | 'broken' | 'fetch' | 'upstash' | 'ioredis' | 'node-redis'
  /** The name under which it is installed in this workspace. */
  readonly module?: string
  /** The module that Workers import instead. */
  readonly moduleInWorkers?: string
  /** Needs no server. */
  readonly alone?: true
  /** Where it does not work, and why. */
  readonly notOn?: Readonly<Record<string, string>>
}

/** A client that no claim suite may pass. */
export const broken: Client = { name: 'broken', family: 'broken', alone: true }

export const embedded: Client = { name: 'embedded', family: 'embedded', alone: true }
export const fetching: Client = { name: 'fetch', family: 'fetch' }
export const ioredis6: Client = { name: 'ioredis 6', family: 'ioredis', module: 'ioredis' }

export const upstash: Client = {
  name: '@upstash/redis',
  family: 'upstash',
  module: '@upstash/redis',
  moduleInWorkers: '@upstash/redis/cloudflare',
}

export const clients: readonly Client[] = [
  embedded,
  ioredis6,
  { name: 'ioredis 5', family: 'ioredis', module: 'ioredis-5' },
  { name: 'iovalkey', family: 'ioredis', module: 'iovalkey' },
  { name: 'node-redis 6', family: 'node-redis', module: 'redis' },
  { name: 'node-redis 5', family: 'node-redis', module: 'redis-5' },
  { name: 'node-redis 4', family: 'node-redis', module: 'redis-4' },
  fetching,
  upstash,
  {
    name: '@upstash/redis 1.28',
    family: 'upstash',
    module: 'upstash-redis-1-28',
    moduleInWorkers: 'upstash-redis-1-28/cloudflare',
  },
]
