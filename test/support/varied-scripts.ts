import { createHash } from 'node:crypto'
import type { CallDeadline } from '@leasehold/core/adapter'
import type { RedisTransport, ScriptCall, ScriptReply } from '@leasehold/core/redis'

/** What replaces the scripts that a store sends. */
export interface Variation {
  /** The text to run instead of a script's own. */
  text(script: string): string
  /** Further arguments for each call. */
  args?(): readonly string[]
  /** What to answer the store for the value that the variant has returned. */
  reply?(value: unknown): unknown
}

/** Runs a variant of each script on a real Redis. */
export function variedTransport(real: RedisTransport, variation: Variation): RedisTransport {
  /** The variant of each script, by the hash of the script. */
  const variants = new Map<string, string>()

  async function runVariant({ command, body, keys, args }: ScriptCall, call: CallDeadline): Promise<ScriptReply> {
    const hash = command === 'EVAL' ? sha1(body) : body
    if (command === 'EVAL') variants.set(hash, variation.text(body))
    const variant = variants.get(hash)
    if (variant === undefined) return unknownScript
    const given = { keys, args: [...args, ...(variation.args?.() ?? [])] }
    const [known] = await real.run([{ command: 'EVALSHA', body: sha1(variant), ...given }], call)
    if (known?.type !== 'error' || !known.message.startsWith('NOSCRIPT')) return known ?? unknownScript
    const [reply] = await real.run([{ command: 'EVAL', body: variant, ...given }], call)
    return reply ?? unknownScript
  }

  async function runOne(script: ScriptCall, call: CallDeadline): Promise<ScriptReply> {
    const reply = await runVariant(script, call)
    return reply.type === 'value' && variation.reply ? { ...reply, value: variation.reply(reply.value) } : reply
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
