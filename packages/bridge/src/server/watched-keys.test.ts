import { ManualClock } from '@leasehold/testkit'
import { expect, test } from 'vitest'
import { WatchedKeys } from './watched-keys.ts'

const gone = new AbortController().signal
const request = { cursor: '1', timeoutMs: 1_000, forResult: false, gone }

function watchedKeys() {
  const clock = new ManualClock()
  let checks = 0
  const keys = new WatchedKeys({
    clock,
    check: async () => {
      checks++
      return { type: 'checked', changed: false, cursor: '1', expiresInMs: 60_000 }
    },
  })
  return { clock, keys, checks: () => checks }
}

test('a key is remembered for 5 s, in which a poll that comes again costs no check', async () => {
  const { clock, keys, checks } = watchedKeys()
  void keys.get('a').wait(request)
  await clock.advance(1_000 + 4_999)
  void keys.get('a').wait(request)
  await clock.advance(1_000)
  expect(checks()).toBe(1)
  await clock.advance(5_000)
  void keys.get('a').wait(request)
  await clock.advance(0)
  expect(checks()).toBe(2)
  keys.close()
})

test('of a thousand keys that are waited for no more, nothing is left after 5 s', async () => {
  const { clock, keys } = watchedKeys()
  for (let index = 0; index < 1_000; index++) void keys.get(`key ${index}`).wait(request)
  await clock.advance(1_000)
  expect(keys.size).toBe(1_000)
  await clock.advance(5_000)
  expect(keys.size).toBe(0)
  expect(clock.pending).toBe(0)
})

test('a release of a key that nobody waits for is dropped', () => {
  const { keys } = watchedKeys()
  keys.released('a')
  expect(keys.size).toBe(0)
})

test('when releases may have been missed all keys are checked at, spread over the time that is given', async () => {
  const { clock, keys, checks } = watchedKeys()
  for (let index = 0; index < 1_000; index++) void keys.get(`key ${index}`).wait({ ...request, timeoutMs: 60_000 })
  await clock.advance(10_000)
  expect(checks()).toBe(1_000)
  keys.checkAgain(4_000)
  await clock.advance(2_000)
  expect(checks()).toBeGreaterThan(1_300)
  expect(checks()).toBeLessThan(1_700)
  await clock.advance(2_000)
  expect(checks()).toBe(2_000)
  keys.close()
})
