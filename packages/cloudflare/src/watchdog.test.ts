import { InvalidOptionError } from '@leasehold/core'
import { expect, it } from 'vitest'
import { shards } from './shards.ts'
import { watchdog } from './watchdog.ts'

const binding = { getByName: () => ({}) }

it('a missing binding and bad options are refused by name', () => {
  expect(() => watchdog(undefined as never)).toThrow('does this Worker have it?')
  const bad = [{ minTtl: 0 }, { nameOf: 'a' }, { ttl: '2m' }]
  for (const options of bad) expect(() => watchdog(binding, options as never)).toThrow(InvalidOptionError)
  for (const count of [0, 1.5, NaN, '8']) expect(() => shards(count as number)).toThrow('"count"')
  expect(watchdog(binding).minTtlMs).toBe(120_000)
})

it('keys are spread evenly, the same key always to the same object, in every release', () => {
  const nameOf = shards(8)
  const names = Array.from({ length: 8_000 }, (_, at) => nameOf(`order:${at}`))
  const counts = [...new Set(names)].map((name) => names.filter((each) => each === name).length)
  expect(counts).toHaveLength(8)
  for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(100)
  expect([nameOf('order:1'), nameOf('payment:é'), shards(3, 'mine')('k')]).toEqual([
    'leasehold-watchdog-2',
    'leasehold-watchdog-0',
    'mine-0',
  ])
})
