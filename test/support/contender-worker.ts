/*
 * A separate process that contends for a few locks and keeps a ledger of its holds in Redis. An entry is accepted only
 * if its fence is not lower than the previous entry's, as a guarded resource would require. Arguments: the port of a
 * Redis, the prefix, the number of keys.
 */
import { createLocker } from '@leasehold/core'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { quiet } from './quiet.ts'

const [port, prefix = '', keys] = process.argv.slice(2)
const redis = quiet(new Redis({ port: Number(port), retryStrategy: () => 50 }))
// The client itself must not repeat appends, nor wait for one that it lost with its connection.
const ledger = quiet(
  new Redis({
    port: Number(port),
    retryStrategy: () => 50,
    autoResendUnfulfilledCommands: false,
    commandTimeout: 2_000,
  }),
)
const append = `
  local last = redis.call('LINDEX', KEYS[1], -1)
  if last and tonumber(string.match(last, '(%d+)')) > tonumber(ARGV[1]) then return 0 end
  return redis.call('RPUSH', KEYS[1], ARGV[1] .. ' ' .. ARGV[2])
`
const locks = createLocker({
  store: ioredisStore(redis, { prefix }),
  notifier: ioredisNotifier(redis, { prefix }),
  ttl: 600,
  wait: '20s',
})

const figures = { holds: 0, fencedOut: 0, lost: 0, unanswered: 0, timeouts: 0, longestWaitMs: 0 }
let ending = false

async function work(): Promise<void> {
  while (!ending) {
    const key = `k${Math.floor(Math.random() * Number(keys))}`
    try {
      await locks.withLock(key, async ({ fence, waitedMs }) => {
        figures.longestWaitMs = Math.max(figures.longestWaitMs, waitedMs)
        for (const act of ['enter', 'leave']) {
          const accepted = await ledger.eval(append, 1, `ledger:${key}`, String(fence), `${act} ${process.pid}`)
          if (accepted === 0) figures.fencedOut++
          if (act === 'enter') await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
        }
        figures.holds++
      })
    } catch (error: unknown) {
      const { code } = error as { code?: string }
      if (code === 'LEASE_LOST') figures.lost++
      else if (code === 'ACQUIRE_TIMEOUT') figures.timeouts++
      else figures.unanswered++
    }
  }
}

const running = Promise.all([work(), work(), work()])
process.send?.('working')
process.once('message', async () => {
  ending = true
  await running
  process.send?.(figures, () => process.exit())
})
