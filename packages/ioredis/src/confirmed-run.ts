import type { CallDeadline } from '@leasehold/core/adapter'
import type { ConfirmedReply, ConfirmedRun, ReplicaWait, ScriptCall } from '@leasehold/core/redis'
import { plainError } from './connection-error.ts'
import { connectionFor } from './connections.ts'
import { type Route, untilReady } from './delivery.ts'
import type { IoredisClient } from './ioredis-client.ts'
import { run } from './round.ts'

/** Runs calls with a `WAIT` behind those of each connection. */
export const confirmedRun =
  (route: Route): ConfirmedRun =>
  async (calls, wait, deadline) => {
    const replies: ConfirmedReply[] = []
    const send = async (group: readonly number[]): Promise<void> => {
      const own = group.map((at) => calls[at] as ScriptCall)
      const confirmed = await onOneConnection(route, own, wait, deadline)
      for (const [place, at] of group.entries()) replies[at] = confirmed[place] as ConfirmedReply
    }
    await Promise.all(byConnection(route.client, calls).map(send))
    if (!route.client.isCluster) return replies
    const redirected = calls.flatMap((_, at) => (isRedirected(replies[at] as ConfirmedReply) ? [at] : []))
    if (redirected.length === 0) return replies

    // The cluster client follows, and learns where the slot is. Carried out there, they are repeated for a `WAIT` of that node.
    const followed = await run(
      route,
      redirected.map((at) => calls[at] as ScriptCall),
      deadline,
    )
    for (const [place, at] of redirected.entries()) replies[at] = { reply: followed[place] ?? unknown, confirmed: 0 }
    const again = redirected.filter((at) => replies[at]?.reply.type === 'value')
    const before = [...replies]
    await Promise.all(byConnection(route.client, calls, again).map(send))
    // The slot is on its way: nobody can say which node's replicas have it.
    for (const at of again) if (isRedirected(replies[at] as ConfirmedReply)) replies[at] = before[at] as ConfirmedReply
    return replies
  }

const unknown = { type: 'unknown', executed: 'unknown' } as const

const isRedirected = ({ reply }: ConfirmedReply): boolean =>
  reply.type === 'error' && /^(MOVED|ASK) /.test(reply.message)

/** The numbers of the calls that go over the same connection. */
function byConnection(
  client: IoredisClient,
  calls: readonly ScriptCall[],
  which: readonly number[] = calls.map((_, at) => at),
): readonly (readonly number[])[] {
  const groups = new Map<unknown, number[]>()
  for (const at of which) {
    const connection = connectionFor(client, calls[at]?.keys[0])
    groups.set(connection, [...(groups.get(connection) ?? []), at])
  }
  return [...groups.values()]
}

/** The calls and the `WAIT` leave together, past a cluster client, which might send them to different nodes. */
async function onOneConnection(
  route: Route,
  calls: readonly ScriptCall[],
  wait: ReplicaWait,
  deadline: CallDeadline,
): Promise<readonly ConfirmedReply[]> {
  const key = calls[0]?.keys[0]
  const notSent = await untilReady(route, key, deadline)
  if (notSent) return calls.map(() => ({ reply: notSent, confirmed: 0 }))
  const connection = connectionFor(route.client, key)
  // A cluster client that knows no node for the slot asks around, and learns of it that way.
  if (!connection) return (await run(route, calls, deadline)).map((reply) => ({ reply, confirmed: 0 }))
  let confirmation: Promise<Confirmation> = Promise.resolve({ confirmed: 0 })
  const replies = await run({ ...route, client: connection }, calls, deadline, () => {
    confirmation = confirmedBy(connection, route, wait)
  })
  const { confirmed, cause } = await inTime(confirmation, deadline)
  return replies.map((reply) => ({ reply, confirmed, cause }))
}

type Confirmation = Omit<ConfirmedReply, 'reply'>

async function confirmedBy(
  connection: IoredisClient,
  { waitCommand }: Route,
  wait: ReplicaWait,
): Promise<Confirmation> {
  const { stream } = connection
  try {
    const confirmed = Number(await waitCommand.call(connection, wait.replicas, wait.timeoutMs))
    // Sent again over another connection, it counts the replicas that there are, whatever they have.
    return { confirmed: connection.stream === stream ? confirmed : 0 }
  } catch (error: unknown) {
    return { confirmed: 0, cause: plainError(error) }
  }
}

const inTime = (confirmation: Promise<Confirmation>, deadline: CallDeadline): Promise<Confirmation> =>
  new Promise((resolve) => {
    const withdraw = deadline.onOver(() => resolve({ confirmed: 0 }))
    void confirmation.then(resolve).finally(() => withdraw?.())
  })
