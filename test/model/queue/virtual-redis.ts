import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { CallDeadline } from '@leasehold/core/adapter'
import type { RedisTransport, ScriptCall, ScriptReply } from '@leasehold/core/redis'

const virtualTime = readFileSync(new URL('virtual-time.lua', import.meta.url), 'utf8')

/** What scripts see as the server's time and its subscribers. */
export interface VirtualServer {
  nowMs: number
  /** The number of subscribers by channel. */
  readonly subscribers: Record<string, number>
  /** The most entries that a call drops, if different from the product. */
  readonly mostDropped?: number
}

/** Runs a variant of each script, with the time of `server`, on a real Redis. Published messages are kept in a list. */
export function virtualTransport(real: RedisTransport, server: VirtualServer): RedisTransport {
  /** The variant of each script, by the hash of the script. */
  const variants = new Map<string, string>()

  async function runOne({ command, body, keys, args }: ScriptCall, call: CallDeadline): Promise<ScriptReply> {
    const hash = command === 'EVAL' ? sha1(body) : body
    if (command === 'EVAL') variants.set(hash, virtualTime + limited(body, server.mostDropped))
    const variant = variants.get(hash)
    if (variant === undefined) return unknownScript
    const virtual = { keys, args: [...args, String(server.nowMs), JSON.stringify(server.subscribers)] }
    const [known] = await real.run([{ command: 'EVALSHA', body: sha1(variant), ...virtual }], call)
    if (known?.type !== 'error' || !known.message.startsWith('NOSCRIPT')) return known ?? unknownScript
    const [reply] = await real.run([{ command: 'EVAL', body: variant, ...virtual }], call)
    return reply ?? unknownScript
  }

  return {
    ...real,
    async run(calls, call) {
      const replies: ScriptReply[] = []
      for (const each of calls) replies.push(await runOne(each, call))
      return replies
    },
  }
}

const unknownScript: ScriptReply = { type: 'error', message: 'NOSCRIPT' }

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex')

/** Every queue script begins with figures; the number of turns and the number of drops are adjacent. */
function limited(text: string, mostDropped: number | undefined): string {
  const figures = '1e15,100,100,'
  if (mostDropped === undefined || !text.includes('1e15')) return text
  if (!text.includes(figures)) throw new Error('The scripts of the queue begin with other figures')
  return text.replace(figures, `1e15,100,${mostDropped},`)
}

/** An outcome as text. Unordered parts are sorted, and all kinds of shared locks get one name. */
export const inOneForm = (outcome: unknown): string =>
  JSON.stringify(outcome, (key, value) => {
    if (typeof value === 'string')
      return value.replace('is a lock for several holders', 'holds something that is not a lock')
    if (key === 'turns') return [...value].sort()
    if (key === 'holders' && Array.isArray(value)) return value.map((it) => JSON.stringify(sorted(it))).sort()
    return value && typeof value === 'object' && !Array.isArray(value) ? sorted(value) : value
  })

const sorted = (value: object): object => Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
