import { AcquireTimeoutError, type Lease } from '@leasehold/core'
import { expect, it } from 'vitest'
import { redisArena } from '../support/arena.ts'
import { heapBytes } from '../support/heap.ts'
import { elapse, eventually, rounds } from '../support/scale.ts'

async function inBatches(atOnce: number, calls: number, call: (index: number) => Promise<unknown>): Promise<void> {
  for (let first = 0; first < calls; first += atOnce) {
    const batch = Array.from({ length: Math.min(atOnce, calls - first) }, (_, offset) => call(first + offset))
    await Promise.all(batch)
  }
}

it('T-74: names used once leave nothing in the process, nor do waits for them that end', async () => {
  await using arena = await redisArena()
  const locks = arena.client({ notifier: arena.notifier() })
  const holder = arena.client()
  const channels = async (): Promise<number> =>
    ((await arena.command('PUBSUB', 'CHANNELS', `${arena.prefix}*`)) as unknown[]).length

  const use = (name: string): Promise<void> => locks.withLock(name, () => undefined)
  let timedOut = 0
  // Not with `expect`, which keeps its arguments until the test is over.
  const waitInVain = async (name: string): Promise<void> => {
    await locks.acquire(name, { wait: 400 }).catch((error: unknown) => {
      if (error instanceof AcquireTimeoutError) timedOut++
    })
  }
  const names = rounds(32_000, 12_000)
  // So many that what the process compiles meanwhile, some 250 kB in any case, is little for each.
  const contended = 4_000
  const waits = rounds(10_000, 4_000)
  const hold = (count: number, prefix: string): Promise<readonly Lease[]> =>
    Promise.all(
      Array.from({ length: count }, (_, index) => holder.acquire(`${prefix}-${index}`, { ttl: '5m', renew: false })),
    )
  const held = [...(await hold(500, 'warm')), ...(await hold(contended, 'held'))]
  // Whatever is compiled, cached or grown once exists before anything is counted.
  await inBatches(100, 3_000, (index) => use(`before-${index}`))
  await inBatches(500, 1_000, (index) => waitInVain(`warm-${index % 500}`))
  await eventually(async () => (await channels()) === 0)
  // A call that gave up in the middle of a try is cleaned up after one command deadline.
  await elapse(2_500)

  const before = await heapBytes()
  await inBatches(100, names, (index) => use(`once-${index}`))
  const afterNames = await heapBytes()
  await inBatches(500, waits, (index) => waitInVain(`held-${index % contended}`))
  await eventually(async () => (await channels()) === 0)
  expect(timedOut).toBe(1_000 + waits)
  // Less than a map entry takes.
  const perName = (afterNames - before) / names
  expect(perName).toBeLessThan(60)
  // Less than a channel takes, or the waits for a name.
  let perHeldName = 0
  await eventually(async () => {
    perHeldName = ((await heapBytes()) - afterNames) / contended
    return perHeldName < 250
  })
  console.log(
    `heap: ${perName.toFixed()} bytes more for each of ${names} names, ${perHeldName.toFixed()} for each of ${contended} waited for`,
  )
  await Promise.all(held.map((lease) => lease.release()))
}, 120_000)
