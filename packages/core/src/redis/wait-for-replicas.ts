import { makings } from '#process-state'
import { demandObject, demandOption, refuseUnknown } from '../errors.ts'
import { offeredFindings, offerFindings } from '../store/finding.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import { type Duration, parseDuration } from '../timing/duration.ts'
import { replicaWaitOf } from './offer-replica-wait.ts'
import { offerPlainCommands, plainCommandOf } from './plain-commands.ts'
import { redisStore } from './redis-store.ts'
import type { RedisTransport, ScriptCall, ScriptReply } from './redis-transport.ts'
import type { ConfirmedReply, ConfirmedRun, ReplicaWait } from './replica-wait.ts'
import { read } from './scripts/generated/read.ts'
import { release } from './scripts/generated/release.ts'

export interface ReplicaOptions {
  /** How many replicas must confirm each grant and each renewal. */
  readonly replicas: number
  /**
   * How long the server waits for them; default 50 ms, at most 500 ms. Meanwhile it carries out nothing else that
   * arrives on the same connection.
   */
  readonly timeout?: Duration | undefined
}

/** A longer timeout would leave no time for a second try within a command deadline. */
const longestTimeoutMs = 500

/**
 * Makes a backend whose grants and renewals count only once enough replicas have them: Redis's `WAIT` follows each
 * script in the same round trip. So a failover to a replica that had confirmed loses no lease that was reported to a
 * caller, and no fence.
 *
 * A request that too few replicas confirmed counts as unanswered, whatever the primary did. An acquire is repeated
 * until its time is over; then it rejects with `StoreUnavailableError`, and what the primary granted is given back. A
 * renewal is repeated until the lease's validity is over. The `cause` says how many replicas confirmed. Answers that
 * grant nothing, such as that somebody holds the lock, count without confirmation. So do releases.
 *
 * **It does not make Redis consistent.** `WAIT` does not prevent the promotion of a replica that had not confirmed. Set
 * `replicas` to the number of all replicas, or at least to a majority, and let the failover choose the replica with the
 * most data, as Sentinel and Cluster do. A primary that is cut off from its replicas grants nothing.
 *
 * Each acquire and renewal takes one more round trip between the servers. If a replica is down and too few are left,
 * each of them blocks the connection for `timeout`, so give locks a client of their own. A release does not pass the
 * lock on in the same request.
 *
 * @example
 * ```ts
 * const locks = createLocker({ ...waitForReplicas(ioredisBackend(redis), { replicas: 1, timeout: '50ms' }) })
 * ```
 *
 * @returns the same backend with a different store
 * @throws InvalidOptionError for a bad option, or a store whose client cannot wait for replicas, such as one over HTTP
 */
export function waitForReplicas<B extends { readonly store: LeaseStore }>(backend: B, options: ReplicaOptions): B {
  demandObject(options)
  const { replicas, timeout = '50ms', ...rest } = options
  refuseUnknown(rest)
  demandOption(Number.isInteger(replicas) && replicas > 0, 'replicas', 'a whole number, at least 1')
  const timeoutMs = parseDuration('timeout', timeout)
  demandOption(timeoutMs <= longestTimeoutMs, 'timeout', `at most ${longestTimeoutMs} ms`)
  const [transport, memory] = makings.get(backend?.store) ?? []
  const run = transport && replicaWaitOf(transport)
  demandOption(
    run !== undefined,
    'backend',
    'one over a client that can wait for replicas: over TCP, and made by its adapter',
  )
  const confirming = confirmingTransport(transport as RedisTransport, run as ConfirmedRun, { replicas, timeoutMs })
  return { ...backend, store: redisStore(confirming, { prefix: backend.store.prefix, fenceMemory: Number(memory) }) }
}

/**
 * A transport over the same client. It replaces a reply it cannot vouch for with the server's error for too few
 * replicas.
 */
function confirmingTransport(transport: RedisTransport, confirmed: ConfirmedRun, wait: ReplicaWait): RedisTransport {
  const { commandDeadlineMs, cluster, countsSubscribers } = transport
  const confirming: RedisTransport = {
    commandDeadlineMs,
    cluster,
    countsSubscribers,
    nodeOf: (key) => transport.nodeOf(key),
    whenReady: (key, call) => transport.whenReady(key, call),
    async run(calls, call) {
      if (calls.every(grantsNothing)) return transport.run(calls, call)
      return (await confirmed(calls, wait, call)).map((each, at) =>
        grantsNothing(calls[at] as ScriptCall) ? each.reply : believed(each, wait),
      )
    },
  }
  const plainCommand = plainCommandOf(transport)
  if (plainCommand) offerPlainCommands(confirming, plainCommand)
  return offerFindings(confirming, () => offeredFindings(transport) ?? [])
}

const ungranting = new Set([read, release].flatMap(({ sha1, text }) => [sha1, text]))
const grantsNothing = ({ body }: ScriptCall): boolean => ungranting.has(body)

function believed({ reply, confirmed, cause }: ConfirmedReply, { replicas, timeoutMs }: ReplicaWait): ScriptReply {
  if (confirmed >= replicas || reply.type !== 'value' || !Array.isArray(reply.value)) return reply
  if (!reply.value.some(isYes)) return reply
  const why = cause instanceof Error ? `: ${cause.message}` : ''
  const refusal = ['failed', `NOREPLICAS ${confirmed} of ${replicas} replicas confirmed within ${timeoutMs} ms${why}`]
  // Marked as after a repeat, because the primary has carried it out.
  return { ...reply, resent: true, value: reply.value.map((each) => (isYes(each) ? refusal : each)) }
}

/** Whether a request's reply says that something was granted, renewed or kept. See the scripts. */
const isYes = (reply: unknown): boolean =>
  typeof reply === 'string' || (Array.isArray(reply) && yes.has(reply[0] as string))
const yes = new Set(['granted', 'claimed', 'completed'])
