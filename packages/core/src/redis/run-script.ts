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
 * within the same call. An error reply to a command of several requests is nobody's answer, because one of them may have caused
 * it: each is sent again alone.
 *
 * @param args   what the script takes once
 * @param keys   how many keys each request has
 * @param encode the keys of a request and then its arguments, in the order in which the script names them
 */
export function runScript<Args extends string[], Keys extends string[], Each extends string[], R, O>(
  transport: RedisTransport,
  script: Script<Args, Keys, Each>,
  args: Args,
  keys: Keys['length'],
  requests: readonly R[],
  encode: (request: R) => readonly [...Keys, ...Each],
  decode: (reply: ScriptReply) => O,
  call: CallDeadline,
): Promise<readonly O[]> {
  const encoded = requests.map(encode)
  const outcomes: O[] = []

  function callFor({ members, withText }: Part): ScriptCall {
    const callKeys: string[] = []
    const callArgs: string[] = args.slice()
    for (let place = 0; place < members.length; place++) {
      const request: readonly string[] = encoded[members[place] as number] as readonly [...Keys, ...Each]
      for (let at = 0; at < request.length; at++) (at < keys ? callKeys : callArgs).push(request[at] as string)
    }
    const [command, body] = withText ? (['EVAL', script.text] as const) : (['EVALSHA', script.sha1] as const)
    return { command, body, keys: callKeys, args: callArgs }
  }

  /** Takes the outcomes from the replies, and sends again what has to be. */
  const send = (parts: readonly Part[]): Promise<readonly O[]> =>
    transport.run(parts.map(callFor), call).then((replies) => {
      const again: Part[] = []
      for (let at = 0; at < parts.length; at++) {
        const part = parts[at] as Part
        const reply = replies[at] ?? noReply
        const instead = retries(transport, part, reply)
        if (instead) again.push(...instead)
        else take(part, reply)
      }
      return again.length > 0 ? send(again) : outcomes
    })

  function take({ members, resent = false }: Part, reply: ScriptReply): void {
    for (let place = 0; place < members.length; place++) {
      outcomes[members[place] as number] = decode(replyTo(reply, place, resent))
    }
  }

  return send(grouped(transport, encoded))
}

/** Which requests share a command: all on a single server, those of one hash tag on a cluster. */
function grouped(transport: RedisTransport, requests: readonly (readonly string[])[]): readonly Part[] {
  if (!transport.cluster && !splitTransports.has(transport)) return [{ members: requests.map(indexOf) }]
  const groups = new Map<string, number[]>()
  for (const [index, [key = '']] of requests.entries()) {
    const tag = hashTag(key) ?? key
    const group = groups.get(tag)
    if (group) group.push(index)
    else groups.set(tag, [index])
  }
  return Array.from(groups.values(), (members) => ({ members }))
}

const indexOf = (_: unknown, index: number): number => index

/** What has to be sent in place of this part, because its reply is nobody's answer. Undefined if it is an answer. */
function retries(
  transport: RedisTransport,
  { members, withText, resent }: Part,
  reply: ScriptReply,
): readonly Part[] | undefined {
  if (reply.type !== 'error') return undefined
  const { message } = reply
  const isResent = resent || reply.resent
  if (/^CROSSSLOT/.test(message)) splitTransports.add(transport)
  if (!withText && /^NOSCRIPT/.test(message)) return [{ members, withText: true, resent: isResent }]
  if (members.length === 1 || aboutServer.test(message)) return undefined
  const mayHaveRun = isResent || !carriesOutNothing.test(message)
  return members.map((index) => ({ members: [index], withText, resent: mayHaveRun }))
}

/** Errors that say nothing about a request: the server answers them to all. */
const aboutServer = /^(LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|NOREPLICAS|MISCONF|NOAUTH)/

/** Errors about some request that come before anything is carried out. About a script's own commands Redis says `NOPERM ACL …`. */
const carriesOutNothing = /^(CROSSSLOT|TRYAGAIN|OOM|NOPERM (?!ACL))/

/** What is sent as one command. */
interface Part {
  /** The numbers of its requests. */
  readonly members: readonly number[]
  readonly withText?: boolean | undefined
  /** It may have been carried out already: by a server that has the script, or with others, before the error of one of them. */
  readonly resent?: boolean | undefined
}

const noReply: ScriptReply = { type: 'unknown', executed: 'unknown' }

/** The part of a command's reply that belongs to one of its requests. */
function replyTo(reply: ScriptReply, place: number, resent: boolean): ScriptReply {
  if (reply.type === 'unknown') return resent ? { ...reply, executed: 'unknown' } : reply
  if (reply.type === 'error') return resent ? { ...reply, resent } : reply
  return { type: 'value', value: (reply.value as unknown[] | null)?.[place], resent: reply.resent || resent }
}
