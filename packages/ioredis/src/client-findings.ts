import type { Finding } from '@leasehold/core/adapter'
import type { IoredisClient } from './ioredis-client.ts'

/** Options that decide what happens to locks after a failure. A cluster client keeps those of its nodes apart. */
interface RiskyOptions {
  readonly retryStrategy?: unknown
  readonly clusterRetryStrategy?: unknown
  readonly reconnectOnError?: unknown
  readonly socketTimeout?: unknown
  readonly commandTimeout?: unknown
  readonly redisOptions?: RiskyOptions
}

/** Below this timeout, in milliseconds, the client gives up requests that the store still waits for. */
const leastCommandTimeoutMs = 1_000

/**
 * What a client's options mean for locks. Other options make no difference here: nothing is put into the client's
 * offline queue, each request has a deadline of its own, and a resend by the client is recognized.
 */
export function clientFindings(client: IoredisClient): readonly Finding[] {
  const options = client.options as RiskyOptions
  const { socketTimeout, commandTimeout } = client.isCluster ? (options.redisOptions ?? {}) : options
  const retry = client.isCluster ? options.clusterRetryStrategy : options.retryStrategy
  const found: Finding[] = []
  if (typeof retry !== 'function') found.push(neverReconnects)
  if (typeof commandTimeout === 'number' && commandTimeout < leastCommandTimeoutMs) {
    found.push({ ...shortTimeout, message: `${shortTimeout.message} ${commandTimeout} ms` })
  }
  if (typeof socketTimeout !== 'number') found.push(noSocketTimeout)
  if (!client.isCluster && typeof options.reconnectOnError !== 'function') found.push(staysOnReplica)
  return found
}

const neverReconnects: Finding = {
  code: 'CLIENT_NEVER_RECONNECTS',
  severity: 'warning',
  message:
    'The client does not connect again once it has lost its connection: from then on no lock is granted or renewed',
  remedy: "Leave the client's `retryStrategy` (of a cluster client, `clusterRetryStrategy`) as it is by default.",
}
const shortTimeout: Finding = {
  code: 'CLIENT_COMMAND_TIMEOUT',
  severity: 'warning',
  message: 'The client gives requests up while the store still waits for their answers: its commandTimeout is',
  remedy:
    "Leave out the client's `commandTimeout`, or set it to a second or more. Each request of a lock has a deadline of its own.",
}
const noSocketTimeout: Finding = {
  code: 'CLIENT_NO_SOCKET_TIMEOUT',
  severity: 'info',
  message: 'The client takes a connection that died without a word for alive, on Linux for a quarter of an hour',
  remedy: "Set the client's `socketTimeout` to a few seconds (of a cluster client, in its `redisOptions`).",
}
const staysOnReplica: Finding = {
  code: 'CLIENT_STAYS_ON_REPLICA',
  severity: 'info',
  message:
    'The client stays connected to a server that somebody makes a replica, as where a provider fails over behind one name',
  remedy: "Set the client's `reconnectOnError` to `(error) => error.message.includes('READONLY')`.",
}
