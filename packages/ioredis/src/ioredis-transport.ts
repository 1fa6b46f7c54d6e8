import { type CallDeadline, homeContext, offerFindings } from '@leasehold/core/adapter'
import { offerPlainCommands, type RedisTransport, type ScriptCall, type ScriptReply } from '@leasehold/core/redis'
import { clientFindings } from './client-findings.ts'
import { nodeNameOf } from './cluster-node.ts'
import { inOneWrite, obstacle } from './connections.ts'
import { Delivery, type Route, untilReady } from './delivery.ts'
import { checkClient, type IoredisClient } from './ioredis-client.ts'
import { plainCommand } from './plain-command.ts'
import { slotsOnTheMove } from './slots-on-the-move.ts'

/**
 * Runs scripts over an ioredis-compatible client: standalone, Sentinel or Cluster. It is for stores that you write;
 * `ioredisStore` is built on it.
 *
 * A call waits here until its connection is ready, not in the client's offline queue. So nothing is sent once its deadline is
 * over. After a lost connection the client may send a call again (its options `autoResendUnfulfilledCommands` and
 * `maxRetriesPerRequest`; on a cluster `maxRedirections`); `resent` says that it may have. When a thousand calls were given up
 * on a connection and it stays silent for another 2 s, it gets one call each half second until it answers or is replaced. If the
 * server refuses to let the client in, the call ends at once with the server's words.
 *
 * It changes no option of the client, and leaves no listener on it. If a call makes the client connect, that connection belongs
 * to the async context in which `ioredisTransport` was called.
 *
 * @example
 * ```ts
 * const store = redisStore(ioredisTransport(redis))
 * ```
 *
 * @throws InvalidOptionError for anything but such a client, or for a client with a `keyPrefix`
 */
export function ioredisTransport(client: IoredisClient): RedisTransport {
  checkClient(client)
  const cluster = client.isCluster === true
  const commands = {
    EVALSHA: client.createBuiltinCommand('evalsha').buffer,
    EVAL: client.createBuiltinCommand('eval').buffer,
  }
  const route: Route = { client, commands, moving: slotsOnTheMove(), home: homeContext() }
  const transport: RedisTransport = {
    commandDeadlineMs: 2_000,
    cluster,
    countsSubscribers: !cluster,
    overlaps: !cluster,
    nodeOf: (key) => (cluster && nodeNameOf(client, key)) || '',
    whenReady: (key, deadline) => (obstacle(client, key) ? untilReady(route, key, deadline) : undefined),
    run: (calls, deadline) => run(route, calls, deadline),
  }
  return offerPlainCommands(
    offerFindings(transport, () => clientFindings(client)),
    plainCommand(route),
  )
}

/** Sends what can be sent now, in one write for each connection. Resolves when all is answered or the deadline is over. */
const run = (route: Route, calls: readonly ScriptCall[], deadline: CallDeadline): Promise<readonly ScriptReply[]> =>
  new Promise((resolve) => {
    new Round(route, calls, deadline, resolve).begin()
  })

/** Calls that are sent together. */
class Round {
  readonly #route: Route
  readonly #deadline: CallDeadline
  readonly #deliveries: readonly Delivery[]
  readonly #resolve: (replies: readonly ScriptReply[]) => void
  #open: number
  #withdraw: (() => void) | undefined

  constructor(
    route: Route,
    calls: readonly ScriptCall[],
    deadline: CallDeadline,
    resolve: (replies: readonly ScriptReply[]) => void,
  ) {
    this.#route = route
    this.#deadline = deadline
    this.#resolve = resolve
    this.#open = calls.length
    this.#deliveries = calls.map((call) => new Delivery(route, call, deadline, this))
  }

  begin(): void {
    if (this.#deadline.isOver || this.#open === 0) {
      this.#settle()
      return
    }
    this.#withdraw = this.#deadline.onOver(() => {
      for (const delivery of this.#deliveries) delivery.giveUp()
      this.#settle()
    })
    if (this.#open === 1) this.#deliveries[0]?.begin()
    else {
      inOneWrite(this.#route.client, () => {
        for (const delivery of this.#deliveries) delivery.begin()
      })
    }
  }

  /** One of the calls is answered, or will not be sent. */
  onEnd(): void {
    if (--this.#open > 0) return
    this.#withdraw?.()
    this.#settle()
  }

  #settle(): void {
    this.#resolve(this.#deliveries.map(({ reply }) => reply))
  }
}
