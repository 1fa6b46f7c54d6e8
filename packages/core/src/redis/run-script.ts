import { splitTransports } from '#process-state'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { hashTag } from './keys.ts'
import type { RedisTransport, ScriptCall, ScriptReply } from './redis-transport.ts'
import type { Script } from './scripts/script.ts'

/** Whether the reply to a `PUBLISH` counts every subscriber. No node of a cluster knows those of the others. */
export const countsSubscribers = (transport: RedisTransport): boolean =>
  transport.countsSubscribers && !splitTransports.has(transport)

/**
 * Runs a script over many requests and answers one outcome per request, in order.
 *
 * On a single server that is one command. On a cluster a script may touch one slot only, so there is one command per hash tag,
 * sent together. Scripts are called by their hash; a server that has forgotten one (restart, flush, failover) gets the text,
 * within the same call. A request that was refused only because of the others in its command is sent again alone: their keys
 * lie in several slots, or in one that is being moved.
 *
 * @param args     what the script takes once
 * @param requests the keys and arguments of each request, in the order in which the script names them
 */
export async function runScript<Args extends string[], Keys extends string[], Each extends string[], O>(
  transport: RedisTransport,
  script: Script<Args, Keys, Each>,
  args: Args,
  requests: readonly (readonly [keys: Keys, args: Each])[],
  decode: (reply: ScriptReply) => O,
  call: CallDeadline,
): Promise<readonly O[]> {
  const outcomes: O[] = []

  async function send(parts: readonly Part[]): Promise<void> {
    const calls = parts.map(({ members, withText }): ScriptCall => {
      const their = members.map((index) => requests[index] as (typeof requests)[number])
      return {
        command: withText ? 'EVAL' : 'EVALSHA',
        body: withText ? script.text : script.sha1,
        keys: their.flatMap(([keys]) => keys),
        args: [...args, ...their.flatMap(([, each]) => each)],
      }
    })
    const replies = await transport.run(calls, call)
    const again: Part[] = []
    for (const [at, part] of parts.entries()) {
      const { members, withText } = part
      const reply = replies[at] ?? noReply
      const error = reply.type === 'error' ? reply.message : ''
      const resent = part.resent || (reply.type === 'error' && reply.resent)
      if (/^CROSSSLOT/.test(error)) splitTransports.add(transport)
      if (!withText && /^NOSCRIPT/.test(error)) {
        again.push({ members, withText: true, resent })
      } else if (members.length > 1 && /^(CROSSSLOT|TRYAGAIN)/.test(error)) {
        again.push(...members.map((index) => ({ members: [index], resent })))
      } else {
        for (const [place, index] of members.entries()) outcomes[index] = decode(replyTo(reply, place, part.resent))
      }
    }
    if (again.length > 0) await send(again)
  }

  const groups = new Map<string, number[]>()
  for (const [index, [[key = '']]] of requests.entries()) {
    const tag = transport.cluster || splitTransports.has(transport) ? (hashTag(key) ?? key) : ''
    const group = groups.get(tag)
    if (group) group.push(index)
    else groups.set(tag, [index])
  }
  await send(Array.from(groups.values(), (members) => ({ members })))
  return outcomes
}

/** What is sent as one command. */
interface Part {
  /** The numbers of its requests. */
  readonly members: readonly number[]
  readonly withText?: boolean
  /** It may have been carried out already: by a server that has the script, before it reached one that does not. */
  readonly resent?: boolean | undefined
}

const noReply: ScriptReply = { type: 'unknown', executed: 'unknown' }

/** The part of a command's reply that belongs to one of its requests. */
const replyTo = (reply: ScriptReply, place: number, resent = false): ScriptReply =>
  reply.type === 'value'
    ? { ...reply, value: (reply.value as unknown[] | null)?.[place], resent: reply.resent || resent }
    : reply
