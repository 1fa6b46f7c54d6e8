import type { Finding } from '../store/finding.ts'

/** The codes of a check's own findings. */
export type CheckCode =
  | 'UNREACHABLE'
  | 'LOGIN_REFUSED'
  | 'REFUSED'
  | 'NOT_READY'
  | 'IS_REPLICA'
  | 'IS_SENTINEL'
  | 'NO_SCRIPTS'
  | 'TOO_OLD'
  | 'CLUSTER_NEEDS_CLIENT'
  | 'CLUSTER_ONE_NODE'
  | 'CLUSTER_DOWN'
  | 'NOT_A_CLUSTER'
  | 'SCRIPTS_FORBIDDEN'
  | 'COMMANDS_FORBIDDEN'
  | 'KEYS_FORBIDDEN'
  | 'QUEUES_FORBIDDEN'
  | 'INFO_FORBIDDEN'
  | 'PING_FORBIDDEN'
  | 'PUBLISH_FORBIDDEN'
  | 'LISTEN_FORBIDDEN'
  | 'CHANNELS_FORBIDDEN'
  | 'NOT_LISTENING'
  | 'NOT_HEARD'
  | 'PREFIX_MISMATCH'
  | 'OTHER_PREFIX'
  | 'EVICTS_LOCKS'
  | 'MAY_EVICT_LOCKS'
  | 'MEMORY_FULL'
  | 'MEMORY_NEARLY_FULL'
  | 'NO_PERSISTENCE'
  | 'SNAPSHOTS_ONLY'
  | 'NO_APPEND_ONLY_FILE'
  | 'WRITES_STOPPED'
  | 'DISK_FAILS'
  | 'TOO_FEW_REPLICAS'
  | 'CLOCK_STEP'
  | 'UNFINISHED'
  | 'SLOW'

/*
 * Every finding of a check, except those that adapters offer: its severity and its remedy. `<prefix>` stands for the
 * store's. `docs/check.md` has the same codes, severities and remedies; a test compares them.
 */

const user = '`ACL SETUSER <user>'

const catalogue: Readonly<Record<CheckCode, readonly [Finding['severity'], remedy: string]>> = {
  UNREACHABLE: ['error', 'Check that the server runs, and that its address is right and open to this program.'],
  LOGIN_REFUSED: ['error', 'Give the client the user and password, or over HTTP the token, that the server expects.'],
  REFUSED: ['error', 'Ask the operator of the server about its words.'],
  NOT_READY: [
    'error',
    'Wait until the server has loaded its data, ended the script that keeps it busy, or moved its slots.',
  ],
  IS_REPLICA: [
    'error',
    'Connect to the primary: by its address, or by a client for Sentinel or Cluster, which finds it. If a provider fails over behind one name, let the client connect anew on READONLY.',
  ],
  IS_SENTINEL: [
    'error',
    'This is the port of a Sentinel. Give the client the Sentinels and the name of the primary, and not a Sentinel as if it were the server.',
  ],
  NO_SCRIPTS: ['error', 'Use a server with Lua scripts: Redis 6.2 or later, or Valkey.'],
  TOO_OLD: ['error', 'Upgrade to Redis 6.2 or later, or to Valkey.'],
  CLUSTER_NEEDS_CLIENT: ['error', 'Use the cluster client of your library in place of the plain one.'],
  CLUSTER_ONE_NODE: ['info', 'Before the cluster gets a second shard, use the cluster client of your library.'],
  CLUSTER_DOWN: ['error', 'Repair the cluster: `CLUSTER INFO` says what it lacks. Each slot needs a primary.'],
  NOT_A_CLUSTER: ['error', 'Use the plain client of your library in place of the cluster client.'],
  SCRIPTS_FORBIDDEN: ['error', `Allow the user to run scripts: ${user} +eval +evalsha\`.`],
  COMMANDS_FORBIDDEN: [
    'error',
    `Allow the user the commands of the scripts: ${user} +get +mget +set +del +pexpire +pttl +time\`.`,
  ],
  KEYS_FORBIDDEN: [
    'error',
    `Allow the user the keys of locks: ${user} ~<prefix>* ~{*<prefix>*\`. Or give the store a prefix that the user may use.`,
  ],
  QUEUES_FORBIDDEN: [
    'info',
    `Queues, semaphores and read/write locks need more commands: ${user} +hget +hmget +hset +hdel +zadd +zrem +zrange +zrangebyscore +zrank +zscore +zmscore +zcard +pubsub|numsub\`.`,
  ],
  INFO_FORBIDDEN: [
    'info',
    `To see version, eviction and persistence, allow the user one more command: ${user} +info\`.`,
  ],
  PING_FORBIDDEN: [
    'info',
    `For a round trip, and for the \`pingInterval\` of node-redis, allow the user one more command: ${user} +ping\`.`,
  ],
  PUBLISH_FORBIDDEN: ['warning', `Allow the user to announce releases: ${user} +publish\`.`],
  LISTEN_FORBIDDEN: ['warning', `Allow the user to hear releases: ${user} +subscribe +unsubscribe +psubscribe\`.`],
  CHANNELS_FORBIDDEN: ['warning', `Allow the user the channels of releases: ${user} &<prefix>release:*\`.`],
  NOT_LISTENING: [
    'warning',
    'Check that the server, or the bridge, that the notifier connects to runs and lets it in.',
  ],
  NOT_HEARD: ['warning', 'Give the notifier, or the bridge, the same Redis as the store.'],
  PREFIX_MISMATCH: ['error', 'Give store, notifier and bridge the same prefix.'],
  OTHER_PREFIX: [
    'info',
    'If those are the locks you mean, use their prefix: the option `prefix` of the store, `--prefix` of the command line.',
  ],
  EVICTS_LOCKS: [
    'error',
    'Set `maxmemory-policy noeviction`, by `CONFIG SET` and in the configuration, or give locks a server of their own.',
  ],
  MAY_EVICT_LOCKS: [
    'warning',
    'Set `maxmemory-policy noeviction`, by `CONFIG SET` and in the configuration, before the server gets a `maxmemory`.',
  ],
  MEMORY_FULL: ['error', 'Raise `maxmemory`, or store less on this server.'],
  MEMORY_NEARLY_FULL: ['warning', 'Raise `maxmemory`, or store less on this server.'],
  NO_PERSISTENCE: ['warning', 'Set `appendonly yes`, by `CONFIG SET` and in the configuration.'],
  SNAPSHOTS_ONLY: ['info', 'To keep locks through a crash as well, set `appendonly yes`.'],
  NO_APPEND_ONLY_FILE: ['info', 'To keep locks through a crash, set `appendonly yes`, or choose a plan that persists.'],
  WRITES_STOPPED: ['error', 'Give the server a disk that it can write to. Its log says what went wrong.'],
  DISK_FAILS: ['warning', 'Give the server a disk that it can write to. Its log says what went wrong.'],
  TOO_FEW_REPLICAS: [
    'error',
    'Bring the replicas back, or ask for fewer: `min-replicas-to-write` of the server, `replicas` of `waitForReplicas`.',
  ],
  CLOCK_STEP: [
    'warning',
    "Keep the server's clock by slewing (`chronyd`, or `ntpd -x`), and do not set it while locks are held.",
  ],
  UNFINISHED: ['warning', 'Give the check a longer deadline. If a server answers slowly, SLOW says so as well.'],
  SLOW: ['warning', 'Use a server nearer to this program, or one with less to do, and a longer ttl.'],
}

/** @param prefix the store's prefix, for a remedy that names keys or channels */
export function finding(code: CheckCode, message: string, prefix = '<prefix>'): Finding {
  const [severity, remedy] = catalogue[code]
  return { code, severity, message, remedy: remedy.replaceAll('<prefix>', prefix) }
}

/** Returns every finding that `check` itself can report, as it is before anything is known about a server. */
export const knownFindings = (): readonly Finding[] =>
  Object.keys(catalogue).map((code) => finding(code as CheckCode, ''))
