import { sharesBetweenCalls } from '#sharing'
import type { RedisTransport, ScriptCall, ScriptReply } from '../redis/redis-transport.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'

/**
 * A transport for calls of one script that come in bursts. If a node does not know the script, only one of the calls in
 * flight sends its text. The others wait for that call and then send the hash again: thousands of texts would hold the
 * node up.
 */
export function textOnce(transport: RedisTransport, { sha1 }: { readonly sha1: string }): RedisTransport {
  const { commandDeadlineMs, cluster, countsSubscribers } = transport
  /** The sent texts, by node. Each promise settles when its text is answered, or its caller stops waiting. */
  const texts = new Map<string, Promise<unknown>>()

  async function send(text: ScriptCall, call: CallDeadline): Promise<ScriptReply> {
    const node = transport.nodeOf(text.keys[0] ?? '')
    for (let before = texts.get(node); before; before = texts.get(node)) {
      await untilOver(before, call)
      if (call.isOver) return notSent
      const [reply = notSent] = await transport.run([{ ...text, command: 'EVALSHA', body: sha1 }], call)
      if (reply.type !== 'error' || !/^NOSCRIPT/.test(reply.message)) return reply
      // The client sent it twice, and the first may have reached a server that knows the script.
      if (reply.resent) return unheard
    }
    const answered = transport.run([text], call)
    const settled = untilOver(answered, call).then(() => texts.delete(node))
    texts.set(node, settled)
    return (await answered)[0] ?? unheard
  }

  return {
    commandDeadlineMs,
    cluster,
    countsSubscribers,
    nodeOf: (key) => transport.nodeOf(key),
    whenReady: (key, call) => transport.whenReady(key, call),
    async run(calls, call) {
      if (calls[0]?.command !== 'EVAL' || !sharesBetweenCalls()) return transport.run(calls, call)
      return Promise.all(calls.map((each) => send(each, call)))
    },
  }
}

/** Waits for a promise that never rejects, as long as the call lasts. */
const untilOver = (promise: Promise<unknown>, call: CallDeadline): Promise<void> =>
  new Promise((resolve) => {
    const withdraw = call.onOver(resolve)
    void promise.then(() => {
      withdraw()
      resolve()
    })
  })

const notSent: ScriptReply = { type: 'unknown', executed: 'no' }
const unheard: ScriptReply = { type: 'unknown', executed: 'unknown' }
