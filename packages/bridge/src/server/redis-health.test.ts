import { beforeEach, expect, test } from 'vitest'
import { RedisHealth } from './redis-health.ts'

const refused = new Error("NOPERM User shop has no permissions to run the 'psubscribe' command")
const unreachable = Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:6379'), { code: 'ECONNREFUSED' })

let health: RedisHealth
beforeEach(() => {
  health = new RedisHealth()
})

test('who runs the bridge is told all, and anybody no more than the code', () => {
  health.note({ type: 'deaf', problem: refused })
  health.note({ type: 'store-asked', keys: 1, problem: unreachable })
  expect(health.reason).toBe(
    `releases are not heard (${refused.message}); locks cannot be read (${unreachable.message})`,
  )
  expect(health.summary).toBe('releases are not heard (NOPERM); locks cannot be read (ECONNREFUSED)')
})

test('an error without a code is not shown to anybody', () => {
  health.note({ type: 'deaf', problem: new Error('Host redis.internal is gone') })
  expect(health.summary).toBe('releases are not heard (no answer)')
})

test('what works again is no reason any more', () => {
  health.note({ type: 'deaf', problem: refused })
  health.note({ type: 'store-asked', keys: 1, problem: unreachable })
  health.note({ type: 'listening' })
  expect(health.summary).toBe('locks cannot be read (ECONNREFUSED)')
  health.note({ type: 'store-asked', keys: 1 })
  expect(health.summary).toBe('Redis does not answer in time, or does not allow it')
})
