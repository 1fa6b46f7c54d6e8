import type { Script } from '../scripts/script.ts'
import type { RedisTransport, ScriptCall, ScriptReply } from './redis-transport.ts'

/**
 * Runs a script over many requests and answers one outcome per request, in order.
 *
 * Where all keys live on one server that is one command; on a cluster, where a script may touch one slot only, it is one
 * command per request, sent together. Scripts are called by their hash; a server that has forgotten one (restart, flush,
 * failover) gets its text, within the same call.
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
  const groups = transport.cluster ? requests.map((request) => [request]) : [requests]
  const calls = groups.map(
    (group): ScriptCall => ({
      command: 'EVALSHA',
      body: script.sha1,
      keys: group.flatMap(([keys]) => keys),
      args: [...args, ...group.flatMap(([, each]) => each)],
    }),
  )
  const replies = await transport.run(calls, signal)
  const forgotten = calls.filter((_, index) => isNoScript(replies[index]))
  const texts = forgotten.map((call): ScriptCall => ({ ...call, command: 'EVAL', body: script.text }))
  const again = texts.length > 0 ? [...(await transport.run(texts, signal))] : []
  return groups.flatMap((group, index) => {
    const first = replies[index]
    const reply = isNoScript(first) ? alsoResent(again.shift(), first) : first
    return group.map((_, at) => decode(part(reply, at)))
  })
}

const isNoScript = (reply: ScriptReply | undefined): reply is ScriptReply & { type: 'error' } =>
  reply?.type === 'error' && reply.message.startsWith('NOSCRIPT')

/** A server that has the script may have carried out the call before it was sent again to one that has not. */
const alsoResent = (reply: ScriptReply | undefined, first: { readonly resent?: boolean }): ScriptReply | undefined =>
  reply?.type === 'value' && first.resent ? { ...reply, resent: true } : reply

/** The part of one command's reply that belongs to one of its requests. */
const part = (reply: ScriptReply = { type: 'unknown', executed: 'unknown' }, at: number): ScriptReply =>
  reply.type === 'value' ? { ...reply, value: (reply.value as unknown[] | null)?.[at] } : reply
