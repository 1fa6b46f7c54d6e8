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
  /** How many replicas have to confirm each grant and each renewal. */
  readonly replicas: number
  /**
   * How long the server waits for them; default 50 ms, at most 500 ms. Meanwhile it carries out nothing else that comes over the same
   * connection.
   */
  readonly timeout?: Duration | undefined
}

/** Longer, and there would be no second try within a command deadline. */
const longestTimeoutMs = 500

/**
 * Makes a backend whose grants and renewals count only once enough replicas have them, by Redis's `WAIT` behind each script in the same
 * round trip. So a failover to a replica that had confirmed loses no lease that anybody was told of, nor its fence.
 *
 * A request that too few replicas confirmed counts as unanswered, whatever the primary did: an acquire is repeated until its time is over,
 * rejects with `StoreUnavailableError` then, and what the primary granted is given back. A renewal is repeated until the lease's validity
 * is over. The `cause` says how many confirmed. Answers that grant nothing, such as that somebody holds the lock, do not wait for anybody
 * to be believed; nor do releases.
 *
 * **It does not make Redis consistent.** `WAIT` does not keep a replica that had not confirmed from being promoted. Let `replicas` be all
 * of them, or at least as many as a majority, and let the failover choose the one that knows most, as Sentinel and Cluster do. A primary
 * that is cut off from its replicas grants nothing.
 *
 * Each acquire and renewal takes one more round trip between the servers. Where a replica is down and not enough are left, each holds
 * up the connection for `timeout`, so give locks a client of their own. A lock is not passed on with its release in one request.
 *
 * @example
 * ```ts
 * const locks = createLocker({ ...waitForReplicas(ioredisBackend(redis), { replicas: 1, timeout: '50ms' }) })
 * ```
 *
 * @returns the same backend with another store
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

/** A transport of the same client. What it cannot vouch for, it answers as the server's own error for too few replicas. */
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
  // As after a repeat: the primary has carried it out.
  return { ...reply, resent: true, value: reply.value.map((each) => (isYes(each) ? refusal : each)) }
}

/** What a request's reply says if it grants, renews or keeps something. See the scripts. */
const isYes = (reply: unknown): boolean =>
  typeof reply === 'string' || (Array.isArray(reply) && yes.has(reply[0] as string))
const yes = new Set(['granted', 'claimed', 'completed'])
