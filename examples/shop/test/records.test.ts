import { ioredisTransport } from '@leasehold/ioredis'
import { startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { memoryRecords } from '../src/memory-records.ts'
import { type Effect, type Ledger, type LedgerEntry, type Records, SupersededError } from '../src/records.ts'
import { redisLedger, redisRecords } from '../src/redis-records.ts'

type Claim = (records: Records & Ledger) => Promise<void>

const inRedis = async (claim: Claim): Promise<void> => {
  await using server = await startRedis()
  const redis = new Redis(server.url).on('error', () => undefined)
  const transport = ioredisTransport(redis)
  const records = { ...redisRecords(transport, 'shop:'), ...redisLedger(transport, 'shop:') }
  await claim(records).finally(() => redis.disconnect())
}
const inMemory = (claim: Claim): Promise<void> => claim(memoryRecords())

/** Of the size of a real fence: microseconds since 1970. */
const fence = 1_764_284_400_000_000
const effect = (by: number): Effect => ({ server: 'a', key: 'k', fence: by, effect: 'e' })
const entry = (by: number): LedgerEntry => ({ type: 'effect', ...effect(by) })

describe.each([
  ['in Redis', inRedis],
  ['in memory', inMemory],
])('records %s', (_, withRecords) => {
  test('a commit writes the record and its effect', () =>
    withRecords(async (records) => {
      expect(await records.open('k', fence)).toBeNull()
      await records.commit('k', 'first', effect(fence))
      expect(await records.peek('k')).toBe('first')
      expect(await records.open('k', fence + 1)).toBe('first')
      expect(await records.entries()).toEqual([entry(fence)])
    }))

  test('a holder that comes late can write nothing once its successor has read', () =>
    withRecords(async (records) => {
      await records.open('k', fence)
      await records.open('k', fence + 1)
      await expect(records.commit('k', 'late', effect(fence))).rejects.toThrow(SupersededError)
      await expect(records.open('k', fence)).rejects.toThrow(SupersededError)
      expect(await records.peek('k')).toBeNull()
      expect(await records.entries()).toEqual([])
    }))

  test('a commit that is repeated has its effect once', () =>
    withRecords(async (records) => {
      await records.open('k', fence)
      await records.commit('k', 'value', effect(fence))
      await records.commit('k', 'value', effect(fence))
      expect(await records.entries()).toEqual([entry(fence)])
    }))

  test('records of different keys do not touch each other', () =>
    withRecords(async (records) => {
      await records.open('one', fence + 1)
      expect(await records.open('two', fence)).toBeNull()
    }))

  test('the ledger keeps the order in which its entries came', () =>
    withRecords(async (records) => {
      const enter = { type: 'enter', server: 'a', key: 'k', fence } as const
      await records.append(enter)
      await records.commit('k', 'value', effect(fence))
      await records.append({ ...enter, type: 'leave' })
      expect((await records.entries()).map(({ type }) => type)).toEqual(['enter', 'effect', 'leave'])
    }))
})
