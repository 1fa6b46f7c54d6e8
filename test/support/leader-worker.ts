/*
 * A separate process that stands for election. While it leads, it writes its fence through a guard every 20 ms, and
 * reports the outcome. It keeps writing for a moment after it was told to stop, as late work does. Arguments: the Redis
 * URL, the prefix, its name, the ttl in milliseconds.
 */
import { createLocker } from '@leasehold/core'
import { type ElectionEvent, lead } from '@leasehold/core/election'
import { guardedSet } from '@leasehold/core/fencing'
import { ioredisBackend, ioredisTransport } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { quiet } from './quiet.ts'

export type LeaderNews =
  | ElectionEvent
  /** Its signal has fired. */
  | { readonly type: 'told'; readonly fence: number }
  /** A write, and whether the guard let it pass. */
  | { readonly type: 'wrote'; readonly fence: number; readonly stored: boolean }
  | { readonly type: 'ended' }

export type LeaderOrder = 'resign' | 'stop'

const [url = '', prefix = '', name = '', ttl = ''] = process.argv.slice(2)
const redis = quiet(new Redis(url))
const locks = createLocker({ ...ioredisBackend(redis, { prefix }), name, ttl: Number(ttl) })
const transport = ioredisTransport(redis)
const tell = (news: LeaderNews): unknown => process.connected && process.send?.(news)
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const candidate = lead(
  locks,
  'leader',
  async ({ fence, signal }) => {
    signal.addEventListener('abort', () => tell({ type: 'told', fence }))
    for (let late = 0; late < 3; late += Number(signal.aborted)) {
      const written = guardedSet(transport, `${prefix}data`, name, { fence })
      await written.then(({ stored }) => tell({ type: 'wrote', fence, stored })).catch(() => undefined)
      await pause(20)
    }
  },
  { onEvent: tell, pause: '200ms' },
)

process.on('message', (order: LeaderOrder) => void candidate[order]())
await candidate.ended
tell({ type: 'ended' })
await locks.close()
redis.disconnect()
process.disconnect?.()
