import { requestLost, testLocker, unavailable } from '@leasehold/testkit'
import { expect, it } from 'vitest'
import type { LeaseLostError } from '../errors.ts'

it('a loss has no cause that was over long before', async () => {
  const { locks, store, clock } = testLocker()
  const lease = await locks.acquire('k', { ttl: '9s' })
  store.next('renew', unavailable('no', new Error('an outage')))
  await clock.advance(30_000)
  lease.assertValid()
  store.always('renew', requestLost)
  const renewals = store.called('renew').length
  while (store.called('renew').length === renewals) await clock.advance(1)
  clock.freeze(20_000)
  expect(() => lease.assertValid()).toThrow(expect.objectContaining({ reason: 'unreachable' }))
  expect((lease.signal.reason as LeaseLostError).cause).toBeUndefined()
})
