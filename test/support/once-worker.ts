/*
 * A separate process that asks for a result when it is told to, with several calls at once if told so, and answers with
 * what each call got. Its work counts its runs in Redis and takes as long as it is told. Arguments: the Redis URL, the
 * prefix, its name.
 */
import { createLocker } from '@leasehold/core'
import { type OnceOptions, once } from '@leasehold/core/once'
import { ioredisBackend } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { quiet } from './quiet.ts'

export interface OnceOrder {
  readonly key: string
  readonly callers: number
  readonly tookMs: number
  /** How its work ends. */
  readonly end: 'return' | 'throw' | 'too much'
  readonly options: OnceOptions
}

export interface OnceAnswers {
  readonly results: readonly unknown[]
  readonly errors: readonly { readonly code?: string; readonly message: string }[]
  /** The runs of this process whose signal fired. */
  readonly stopped: number
}

const [url = '', prefix = '', name = ''] = process.argv.slice(2)
const redis = quiet(new Redis(url))
const backend = ioredisBackend(redis, { prefix })
const locks = createLocker({ ...backend, name })

async function carryOut({ key, callers, tookMs, end, options }: OnceOrder): Promise<OnceAnswers> {
  let stopped = 0
  const calls = Array.from({ length: callers }, () =>
    once(
      locks,
      key,
      async ({ fence, signal }) => {
        signal.addEventListener('abort', () => stopped++)
        await redis.rpush(`${prefix}runs:${key}`, name)
        process.send?.('running')
        await new Promise((resolve) => setTimeout(resolve, tookMs))
        if (end === 'throw') throw new Error(`${name} failed`)
        return end === 'too much' ? 'x'.repeat(70_000) : { by: name, fence }
      },
      options,
    ),
  )
  const settled = await Promise.allSettled(calls)
  const results = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const errors = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []))
  return { results, errors: errors.map(({ message, ...more }) => ({ message, ...more })), stopped }
}

process.on('message', (order: OnceOrder) => {
  void carryOut(order).then((answers) => process.send?.(answers))
})
await locks.isLocked('warm-up')
process.send?.('ready')
