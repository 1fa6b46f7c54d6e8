import { StoreUnavailableError } from '@leasehold/core'
import { Call } from '@leasehold/core/adapter'
import { guardedSet } from '@leasehold/core/fencing'
import type { RedisTransport } from '@leasehold/core/redis'

/** An answer to a client. */
export interface Answer {
  readonly status: number
  readonly body: string
}

export interface StoredAnswer extends Answer {
  /** The fingerprint of the request that it answers. */
  readonly fingerprint: string
}

/** How long a retry finds the answer. */
const ttl = '24h'

export interface StoredAnswers {
  /** @throws StoreUnavailableError */
  read(key: string): Promise<StoredAnswer | undefined>
  /**
   * Stores an answer as the holder with this fence. If a later holder has stored one, that one stays and is returned.
   *
   * @throws StoreUnavailableError: it may be stored, or may still be
   */
  store(key: string, answer: StoredAnswer, fence: number): Promise<StoredAnswer | undefined>
}

/** Answers in the Redis of the locks, over the same transport, as plain strings of JSON. */
export function storedAnswers(transport: RedisTransport): StoredAnswers {
  const nameOf = (key: string): string => `answer:${key}`

  async function read(key: string): Promise<StoredAnswer | undefined> {
    // A transport runs scripts; this script reads a value.
    const get = { command: 'EVAL', body: "return redis.call('GET', KEYS[1])", keys: [nameOf(key)], args: [] } as const
    // A transport does not watch the time: its caller ends the call.
    const call = new Call(transport.commandDeadlineMs)
    const timer = setTimeout(() => call.end(), call.withinMs)
    const [reply] = await transport.run([get], call).finally(() => clearTimeout(timer))
    if (reply?.type !== 'value') throw new StoreUnavailableError('gave no usable answer to a read', 'no', reply)
    return typeof reply.value === 'string' ? (JSON.parse(reply.value) as StoredAnswer) : undefined
  }

  return {
    read,
    async store(key, answer, fence) {
      // Refused if a holder with a higher fence has written: we were away for longer than our lease, and it took over.
      const { stored } = await guardedSet(transport, nameOf(key), JSON.stringify(answer), { fence, ttl })
      return stored ? undefined : read(key)
    },
  }
}
