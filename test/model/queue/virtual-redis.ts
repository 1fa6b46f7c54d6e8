import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RedisTransport, ScriptCall, ScriptReply } from '@leasehold/core/redis'

const prelude = readFileSync(new URL('virtual-time.lua', import.meta.url), 'utf8')

/** What the scripts of a Redis take for the time and for the subscribers of channels. */
export interface VirtualServer {
  nowMs: number
  /** By channel. */
  readonly subscribers: Record<string, number>
  /** How many entries a call drops at most, if not as many as in the product. */
  readonly mostDropped?: number
}

/** A transport that runs each script with another time. The text of a script stays as it is. */
export function virtualTransport(real: RedisTransport, server: VirtualServer): RedisTransport {
  const texts = new Map<string, string>()
  const unknown: ScriptReply = { type: 'error', message: 'NOSCRIPT' }

  async function runOne({ command, body, keys, args }: ScriptCall, call: Parameters<RedisTransport['run']>[1]) {
    const text = command === 'EVAL' ? body : texts.get(body)
    if (text === undefined) return unknown
    const given = [...args, String(server.nowMs), JSON.stringify(server.subscribers)]
    const [reply] = await real.run([{ command: 'EVAL', body: prelude + limited(text, server.mostDropped), keys, args: given }], call)
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

/** The figures at the top of each script of the queue: the second is how many turns there are at once, the third this limit. */
function limited(text: string, mostDropped: number | undefined): string {
  return mostDropped === undefined ? text : text.replace(/1e15,100,100,/, `1e15,100,${mostDropped},`)
}

/** An outcome as text. What has no order is put in one, and a lock for several is called one. */
export function inOneForm(outcome: unknown): string {
  return JSON.stringify(outcome, (key, value) => {
    if (typeof value === 'string') return value.replace('is a lock for several holders', 'holds something that is not a lock')
    if (key === 'turns') return [...value].sort()
    if (key === 'holders' && Array.isArray(value)) return value.map((it) => JSON.stringify(sorted(it))).sort()
    return value && typeof value === 'object' && !Array.isArray(value) ? sorted(value) : value
  })
}

const sorted = (value: object): object => Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
