import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RedisTransport, ScriptCall, ScriptReply } from '@leasehold/core/redis'

const prelude = readFileSync(new URL('virtual-time.lua', import.meta.url), 'utf8')

/** What the scripts of a Redis take for the time and for the subscribers of channels. */
export interface VirtualServer {
  nowMs: number
  readonly subscribers: Readonly<Record<string, number>>
}

/** A transport that runs each script with another time. The text of a script stays as it is. */
export function virtualTransport(real: RedisTransport, server: VirtualServer): RedisTransport {
  const texts = new Map<string, string>()
  const unknown: ScriptReply = { type: 'error', message: 'NOSCRIPT' }

  async function runOne({ command, body, keys, args }: ScriptCall, call: Parameters<RedisTransport['run']>[1]) {
    const text = command === 'EVAL' ? body : texts.get(body)
    if (text === undefined) return unknown
    const given = [...args, String(server.nowMs), JSON.stringify(server.subscribers)]
    const [reply] = await real.run([{ command: 'EVAL', body: prelude + text, keys, args: given }], call)
    return reply ?? unknown
  }

  return {
    ...real,
    whenReady: (key, call) => real.whenReady(key, call),
    nodeOf: (key) => real.nodeOf(key),
    async run(calls, call) {
      const replies: ScriptReply[] = []
      for (const each of calls) {
        if (each.command === 'EVAL') texts.set(sha1(each.body), each.body)
        replies.push(await runOne(each, call))
      }
      return replies
    },
  }
}

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex')
