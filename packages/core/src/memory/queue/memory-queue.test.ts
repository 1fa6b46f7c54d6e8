import { callUntil, ManualClock } from '@leasehold/testkit'
import { expect, it } from 'vitest'
import { queueOffers } from '../../store/offers.ts'
import type { QueueStore } from '../../store/queue.ts'
import { drawAcquisitionId } from '../../store/token.ts'
import { memoryStore } from '../memory-store.ts'

const key = 'k'
const call = callUntil(new AbortController().signal)
const kind = { name: 'exclusive', capacity: 1 } as const

function setUp() {
  const clock = new ManualClock()
  const queue = queueOffers.get(memoryStore({ clock })) as QueueStore
  const acquire = (inbox: string, number: number, aliveMs = 60_000, ttlMs = 3_600_000) => {
    const waiter = { inbox, number, priorityClass: 0, listens: true, aliveMs, windowMs: 4_000 }
    return queue.acquire({ key, kind, permits: 1, acquisitionId: drawAcquisitionId(), ttlMs, waiter }, call)
  }
  const look = (inbox: string) => queue.look([{ key, inbox, aliveMs: 60_000, numbers: [1] }], call)
  return { clock, queue, acquire, look }
}

it('one call drops a hundred dead waiters, and asks for the next at once', async () => {
  const { clock, acquire, look } = setUp()
  await acquire('holder', 0)
  for (let number = 0; number < 250; number++) await acquire('dead', number, 1_000)
  await acquire('alive', 1)
  await clock.advance(1_000)
  expect(await look('alive')).toMatchObject([{ againInMs: 0 }])
  expect(await acquire('alive', 1)).toMatchObject({ position: 50, againInMs: 0 })
  expect(await look('alive')).toMatchObject([{ againInMs: 3_599_000, missing: [] }])
  expect(await acquire('alive', 1)).toMatchObject({ position: 0 })
})

it('a queue that nobody calls for is forgotten when nobody in it can live, and its holder is not', async () => {
  const { clock, queue, acquire } = setUp()
  await acquire('holder', 0)
  await acquire('gone', 1)
  await clock.advance(60_000)
  expect(await queue.inspect(key, call)).toMatchObject({ waiting: 0, holders: [{ permits: 1 }] })
})
