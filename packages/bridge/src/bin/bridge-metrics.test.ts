import { expect, test } from 'vitest'
import { bridgeMetrics } from './bridge-metrics.ts'

const problem = new Error('Redis does not answer checks')

test('calls, checks, those that were not answered and bad keys are counted by themselves', async () => {
  const metrics = bridgeMetrics()
  metrics.count({ type: 'store-asked', keys: 2 })
  metrics.count({ type: 'store-asked', keys: 1, problem })
  for (const outcome of ['answered', 'answered', 'unanswered', 'bad-key', 'bad-key'] as const) {
    metrics.count({ type: 'check', reason: 'expiry', outcome })
  }
  const { text } = await metrics.page()
  expect(text).toContain('leasehold_bridge_store_calls_total 2\n')
  expect(text).toContain('leasehold_bridge_checks_total{reason="expiry"} 3\n')
  expect(text).toContain('leasehold_bridge_checks_unanswered_total 1\n')
  expect(text).toContain('leasehold_bridge_bad_keys_total 2\n')
})

test('a loss is counted once, however many attempts fail after it', async () => {
  const metrics = bridgeMetrics()
  metrics.count({ type: 'disconnected', problem })
  metrics.count({ type: 'listening' })
  for (let attempts = 0; attempts < 3; attempts++) metrics.count({ type: 'disconnected', problem })
  const { text } = await metrics.page()
  expect(text).toContain('leasehold_bridge_subscription_losses_total 1\n')
  expect(text).toContain('leasehold_bridge_subscription_failures_total 4\n')
  expect(text).toContain('leasehold_bridge_subscribed 0\n')
})
