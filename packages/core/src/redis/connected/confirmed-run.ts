import type { CallDeadline } from '../../timing/call-deadline.ts'
import type { ScriptCall, ScriptReply } from '../redis-transport.ts'
import type { ConfirmedReply, ConfirmedRun, ReplicaWait } from '../replica-wait.ts'
import { plainError } from './client-error.ts'
import type { ConnectedClient, LoneConnection } from './connected-client.ts'
import { type Route, untilReady } from './delivery.ts'
import { run } from './round.ts'

/** Runs calls, with a `WAIT` after the calls of each connection. */
export const confirmedRun =
  <C extends object>(route: Route<C>): ConfirmedRun =>
  async (calls, wait, deadline) => {
    const { to } = route
    const replies: ConfirmedReply[] = []
    const send = (which: readonly number[]): Promise<unknown> =>
      Promise.all(
        byConnection(to, calls, which).map(async (group) => {
          const own = group.map((at) => calls[at] as ScriptCall)
          const confirmed = await onOneConnection(route, own, wait, deadline)
          for (const [place, at] of group.entries()) replies[at] = confirmed[place] as ConfirmedReply
        }),
      )
    await send([...calls.keys()])
    const redirected = to.cluster ? [...calls.keys()].filter((at) => isRedirected(replies[at])) : []
    if (redirected.length === 0) return replies

    // The cluster client follows the redirection and learns where the slot is. The calls that it carried out there are
    // repeated for a `WAIT` on that node.
    const followed = await run(
      route,
      redirected.map((at) => calls[at] as ScriptCall),
      deadline,
    )
    for (const [place, at] of redirected.entries())
      replies[at] = { reply: followed[place] as ScriptReply, confirmed: 0 }
    const unconfirmed = [...replies]
    const again = redirected.filter((at) => replies[at]?.reply.type === 'value')
    await send(again)
    for (const at of again) {
      const repeated = replies[at] as ConfirmedReply
      // If it is redirected again, the slot is still moving: nobody can say which node's replicas have the write.
      replies[at] = isRedirected(repeated) ? (unconfirmed[at] as ConfirmedReply) : afterFirst(repeated)
    }
    return replies
  }

/** What came of a call that was carried out before: of a lease that the first gave back, the second says it is gone. */
const afterFirst = ({ reply, ...rest }: ConfirmedReply): ConfirmedReply => ({
  ...rest,
  reply: reply.type === 'unknown' ? { ...reply, executed: 'unknown' } : { ...reply, resent: true },
})

const isRedirected = (confirmed: ConfirmedReply | undefined): boolean =>
  confirmed?.reply.type === 'error' && /^(MOVED|ASK) /.test(confirmed.reply.message)

/** Groups calls, given by their index, by the connection they go over. */
function byConnection<C extends object>(
  to: ConnectedClient<C>,
  calls: readonly ScriptCall[],
  which: readonly number[],
): readonly (readonly number[])[] {
  const groups = new Map<C | undefined, number[]>()
  for (const at of which) {
    const connection = to.connectionFor(calls[at]?.keys[0])
    const group = groups.get(connection)
    if (group) group.push(at)
    else groups.set(connection, [at])
  }
  return [...groups.values()]
}

/** Sends the calls and the `WAIT` together, bypassing a cluster client, which might send them to different nodes. */
async function onOneConnection<C extends object>(
  route: Route<C>,
  calls: readonly ScriptCall[],
  wait: ReplicaWait,
  deadline: CallDeadline,
): Promise<readonly ConfirmedReply[]> {
  const { to } = route
  const key = calls[0]?.keys[0]
  const notSent = await untilReady(route, key, deadline)
  if (notSent) return calls.map(() => ({ reply: notSent, confirmed: 0 }))
  const connection = to.connectionFor(key)
  const alone = connection && to.alone?.(connection)
  // A cluster client without a connection for the slot opens one for the calls.
  if (!alone) return (await run(route, calls, deadline)).map((reply) => ({ reply, confirmed: 0 }))
  let confirmation: Promise<Confirmation> = Promise.resolve({ confirmed: 0 })
  const replies = await run({ ...route, to: alone.to }, calls, deadline, () => {
    confirmation = confirmedBy(alone, connection, wait)
  })
  const { confirmed, cause } = await inTime(confirmation, deadline)
  return replies.map((reply) => ({ reply, confirmed, cause }))
}

type Confirmation = Omit<ConfirmedReply, 'reply'>

async function confirmedBy<C extends object>(
  { to, wait }: LoneConnection<C>,
  connection: C,
  { replicas, timeoutMs }: ReplicaWait,
): Promise<Confirmation> {
  const line = to.lineOf(connection)
  try {
    const confirmed = await wait(replicas, timeoutMs)
    // A `WAIT` that was sent again on another line counts the replicas there are, whatever they have.
    return { confirmed: to.lineOf(connection) === line ? confirmed : 0 }
  } catch (error: unknown) {
    return { confirmed: 0, cause: plainError(error) }
  }
}

const inTime = (confirmation: Promise<Confirmation>, deadline: CallDeadline): Promise<Confirmation> =>
  new Promise((resolve) => {
    const withdraw = deadline.onOver(() => resolve({ confirmed: 0 }))
    void confirmation.then(resolve).finally(() => withdraw?.())
  })
