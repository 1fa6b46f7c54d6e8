import { startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import type { LedgerEntry } from './ledger.ts'
import { memoryRecords } from './memory-records.ts'
import { type Records, SupersededError } from './records.ts'
import { redisRecords } from './redis-records.ts'

const inRedis = async (claim: (records: Records) => Promise<void>): Promise<void> => {
  await using server = await startRedis()
  const redis = new Redis(server.url).on('error', () => undefined)
  await claim(redisRecords(redis, 'shop:')).finally(() => redis.disconnect())
}
const inMemory = (claim: (records: Records) => Promise<void>): Promise<void> => claim(memoryRecords())

/** As large as a fence is: microseconds since 1970. */
const fence = 1_764_284_400_000_000
const effect = (by: number): LedgerEntry => ({ type: 'effect', server: 'a', key: 'k', fence: by, effect: 'e' })

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
      expect(await records.ledger()).toEqual([effect(fence)])
    }))

  test('a holder that comes late can write nothing once its successor has read', () =>
    withRecords(async (records) => {
      await records.open('k', fence)
      await records.open('k', fence + 1)
      await expect(records.commit('k', 'late', effect(fence))).rejects.toThrow(SupersededError)
      await expect(records.open('k', fence)).rejects.toThrow(SupersededError)
      expect(await records.peek('k')).toBeNull()
      expect(await records.ledger()).toEqual([])
    }))

  test('a commit that is repeated has its effect once', () =>
    withRecords(async (records) => {
      await records.open('k', fence)
      await records.commit('k', 'value', effect(fence))
      await records.commit('k', 'value', effect(fence))
      expect(await records.ledger()).toEqual([effect(fence)])
    }))

  test('records of different keys do not touch each other', () =>
    withRecords(async (records) => {
      await records.open('one', fence + 1)
      expect(await records.open('two', fence)).toBeNull()
    }))
})
