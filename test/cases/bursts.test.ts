import { fork } from 'node:child_process'
import { once } from 'node:events'
import { startRedis } from '@leasehold/testkit/redis'
import { expect, it } from 'vitest'
import type { Burst } from '../support/burst-worker.ts'
import { rounds } from '../support/scale.ts'
import { scriptCalls } from '../support/ways.ts'

const worker = new URL('../support/burst-worker.ts', import.meta.url)
const ttlMs = 3_000
const validMs = ttlMs - ttlMs / 100 - 2

it.each([
  ['that is not busy otherwise', 0, 'later'],
  ['that is busy for 700 ms in the same turn', 700, 'turn'],
  ['that is busy for 700 ms once the first commands have left', 700, 'later'],
] as const)(
  'thousands of acquires of one turn are all granted, in few commands, to a process %s',
  async (_, busyMs, when) => {
    await using server = await startRedis()
    const count = rounds(10_000, 5_000)
    const child = fork(worker, [server.port, count, ttlMs, busyMs, when].map(String), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      timeout: 30_000,
    })
    const [[burst]] = (await Promise.all([once(child, 'message'), once(child, 'exit')])) as [[Burst], unknown]
    console.log(`${count} acquires, busy for ${busyMs} ms (${when}):`, burst)
    expect(burst).toMatchObject({ granted: count, failures: [] })
    expect(burst.leastLeftMs).toBeGreaterThan(0)
    expect(burst.mostLeftMs).toBeLessThanOrEqual(validMs)
    // Few are sent twice, however slow the machine is.
    expect(await scriptCalls(server)).toBeLessThan((2.5 * count) / 64)
  },
  60_000,
)
