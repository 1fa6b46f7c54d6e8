import { splitTransports } from '#process-state'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { hashTag } from './keys.ts'
import type { RedisTransport, ScriptCall, ScriptReply } from './redis-transport.ts'
import type { Script } from './scripts/script.ts'

/** Whether the reply to a `PUBLISH` counts every subscriber. A cluster node does not know the others' subscribers. */
export const countsSubscribers = (transport: RedisTransport): boolean =>
  transport.countsSubscribers && !splitTransports.has(transport)

/**
 * Runs a script over many requests and resolves with one outcome per request, in order.
 *
 * On a single server that is one command. On a cluster a script may touch only one slot, so there is one command per
 * hash tag, and all are sent together. Scripts are called by their hash; a server that has forgotten one (restart,
 * flush, failover) gets the text within the same call. An error reply to a command of several requests answers none of
 * them, because any one may have caused it: each is sent again by itself.
 *
 * @param args   the arguments that the script takes once
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
  const encoded: readonly (readonly string[])[] = requests.map(encode)
  const outcomes: O[] = new Array(requests.length)

  function callFor({ members, withText }: Part): ScriptCall {
    const each = (encoded[0]?.length ?? keys) - keys
    const callKeys: string[] = new Array(members.length * keys)
    const callArgs: string[] = new Array(args.length + members.length * each)
    for (let at = 0; at < args.length; at++) callArgs[at] = args[at] as string
    for (let place = 0; place < members.length; place++) {
      const request = encoded[members[place] as number] as readonly string[]
      for (let at = 0; at < keys; at++) callKeys[place * keys + at] = request[at] as string
      for (let at = 0; at < each; at++) callArgs[args.length + place * each + at] = request[keys + at] as string
    }
    return withText
      ? { command: 'EVAL', body: script.text, keys: callKeys, args: callArgs }
      : { command: 'EVALSHA', body: script.sha1, keys: callKeys, args: callArgs }
  }

  /** Takes the outcomes from the replies, and sends again what must be sent again. */
  const send = (parts: readonly Part[]): Promise<readonly O[]> =>
    transport.run(parts.map(callFor), call).then((replies) => {
      let again: Part[] | undefined
      for (let at = 0; at < parts.length; at++) {
        const part = parts[at] as Part
        const reply = replies[at] ?? noReply
        const instead = retries(transport, part, reply)
        if (instead) again = [...(again ?? []), ...instead]
        else take(part, reply)
      }
      return again ? send(again) : outcomes
    })

  function take({ members, resent = false }: Part, reply: ScriptReply): void {
    for (let place = 0; place < members.length; place++) {
      outcomes[members[place] as number] = decode(replyTo(reply, place, resent))
    }
  }

  return send(grouped(transport, encoded))
}

/** Groups the requests that share a command: all on a single server, those with the same hash tag on a cluster. */
function grouped(transport: RedisTransport, requests: readonly (readonly string[])[]): readonly Part[] {
  if (requests.length === 1) return alone
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

const alone: readonly Part[] = [{ members: [0] }]
const indexOf = (_: unknown, index: number): number => index

/** The parts to send in place of this one if its reply answers no request. Undefined if the reply is an answer. */
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

/** Errors that say nothing about a particular request: the server gives them to every request. */
const aboutServer = /^(LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|NOREPLICAS|MISCONF|NOAUTH)/

/**
 * Errors about one request that come before anything is carried out. For a script's own commands, Redis says
 * `NOPERM ACL …`.
 */
const carriesOutNothing = /^(CROSSSLOT|TRYAGAIN|OOM|NOPERM (?!ACL))/

/** Requests that are sent as one command. */
interface Part {
  /** The indexes of its requests. */
  readonly members: readonly number[]
  readonly withText?: boolean | undefined
  /** It may have been carried out before: by a server that has the script, or with others, until one of them failed. */
  readonly resent?: boolean | undefined
}

const noReply: ScriptReply = { type: 'unknown', executed: 'unknown' }

/** The part of a command's reply that belongs to one of its requests. */
function replyTo(reply: ScriptReply, place: number, resent: boolean): ScriptReply {
  if (reply.type === 'unknown') return resent ? { ...reply, executed: 'unknown' } : reply
  if (reply.type === 'error') return resent ? { ...reply, resent } : reply
  return { type: 'value', value: (reply.value as unknown[] | null)?.[place], resent: reply.resent || resent }
}
