import type { Script } from '../scripts/script.ts'
import { hashTag } from './keys.ts'
import type { RedisTransport, ScriptCall, ScriptReply } from './redis-transport.ts'

/**
 * Transports to what looks like a single server and is a node of a cluster: a plain client on a managed Redis, or HTTP,
 * where nobody knows. One refused a command over two slots once, and would refuse the next.
 */
const split = new WeakSet<RedisTransport>()

/** Whether the answer to a `PUBLISH` counts every subscriber there is: no node of a cluster knows those of the others. */
export const countsSubscribers = (transport: RedisTransport): boolean =>
  transport.countsSubscribers && !split.has(transport)

/**
 * Runs a script over many requests and answers one outcome per request, in order.
 *
 * Where all keys live on one server that is one command; on a cluster, where a script may touch one slot only, it is one
 * command per hash tag, sent together. Scripts are called by their hash; a server that has forgotten one (restart, flush,
 * failover) gets its text, within the same call. So does each request for itself that was refused for the company it was
 * in: keys of several slots, or of a slot that is being moved and of which only some have arrived.
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
  signal: AbortSignal,
): Promise<readonly O[]> {
  const outcomes: O[] = []

  /** @param groups the numbers of the requests that share a command */
  async function send(groups: readonly (readonly number[])[], wasResent?: boolean): Promise<void> {
    const calls = groups.map((group): ScriptCall => {
      const members = group.map((index) => requests[index] as (typeof requests)[number])
      return {
        command: 'EVALSHA',
        body: script.sha1,
        keys: members.flatMap(([keys]) => keys),
        args: [...args, ...members.flatMap(([, each]) => each)],
      }
    })
    const replies = await transport.run(calls, signal)
    const forgotten = calls.filter((_, at) => isError(replies[at], /^NOSCRIPT/))
    const texts = forgotten.map((call): ScriptCall => ({ ...call, command: 'EVAL', body: script.text }))
    const again = texts.length > 0 ? [...(await transport.run(texts, signal))] : []

    const alone: number[][] = []
    let resent = wasResent
    for (const [at, group] of groups.entries()) {
      const first = replies[at]
      const reply = isError(first, /^NOSCRIPT/) ? alsoResent(again.shift(), first.resent) : first
      if (isError(reply, /^CROSSSLOT/)) split.add(transport)
      if (group.length > 1 && isError(reply, /^(CROSSSLOT|TRYAGAIN)/)) {
        for (const index of group) alone.push([index])
        resent ||= reply.resent
      } else {
        for (const [place, index] of group.entries())
          outcomes[index] = decode(part(alsoResent(reply, wasResent), place))
      }
    }
    if (alone.length > 0) await send(alone, resent)
  }

  const groups = new Map<string, number[]>()
  for (const [index, [[key = '']]] of requests.entries()) {
    const tag = transport.cluster || split.has(transport) ? (hashTag(key) ?? key) : ''
    const group = groups.get(tag)
    if (group) group.push(index)
    else groups.set(tag, [index])
  }
  await send([...groups.values()])
  return outcomes
}

const isError = (reply: ScriptReply | undefined, words: RegExp): reply is ScriptReply & { type: 'error' } =>
  reply?.type === 'error' && words.test(reply.message)

/** A server that has the script may have carried out the call before it was sent again to one that has not. */
const alsoResent = (reply: ScriptReply | undefined, resent: boolean | undefined): ScriptReply | undefined =>
  reply?.type === 'value' && resent ? { ...reply, resent } : reply

/** The part of one command's reply that belongs to one of its requests. */
const part = (reply: ScriptReply = { type: 'unknown', executed: 'unknown' }, at: number): ScriptReply =>
  reply.type === 'value' ? { ...reply, value: (reply.value as unknown[] | null)?.[at] } : reply
