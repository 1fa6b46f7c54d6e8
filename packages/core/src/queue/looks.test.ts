import { follow } from '@leasehold/testkit'
import { expect, it } from 'vitest'
import { queueing } from '../../test/queueing.ts'

it('one look asks for every key that is due at about the same time', async () => {
  const { clock, process } = queueing()
  const [one, two] = [process(), process()]
  for (const key of ['a', 'b', 'c']) {
    await one.locks.acquire(key)
    follow(two.locks.acquire(key), clock)
    await clock.advance(100)
  }
  two.store.calls.length = 0
  await clock.advance(10_000)
  const looks = two.store.called('queue.look')
  expect(looks.length).toBeLessThanOrEqual(11)
  expect(looks.at(-1)?.requests.map(({ key }) => key)).toEqual(['a', 'b', 'c'])
})

it('a look names the first hundred waiters, and the others once those are gone', async () => {
  const { clock, process } = queueing()
  const [one, two] = [process(), process()]
  const held = await one.locks.acquire('k')
  const order: number[] = []
  for (let n = 1; n <= 150; n++) {
    void two.locks.acquire('k').then((lease) => {
      order.push(n)
      return lease.release()
    })
  }
  await clock.advance(1_500)
  const named = two.store.called('queue.look').at(-1)?.requests[0]?.numbers ?? []
  expect(named).toEqual(Array.from({ length: 100 }, (_, at) => at + 1))
  await held.release()
  await clock.advance(0)
  expect(order).toEqual(Array.from({ length: 150 }, (_, at) => at + 1))
})

it('a key whose release is announced to all is looked at once, and not again and again', async () => {
  const { clock, process } = queueing()
  const [plain, two] = [process({ queue: undefined }), process()]
  const held = await plain.locks.acquire('k')
  two.queue()
  two.isDeaf = true
  await clock.advance(500)
  two.isDeaf = false
  two.store.calls.length = 0
  for (let each = 0; each < 50; each++) {
    const lease = await plain.locks.acquire(`k`, { wait: 0 }).catch(() => undefined)
    await lease?.release()
    await clock.advance(1)
  }
  await held.release()
  expect(two.store.called('queue.look').length).toBeLessThanOrEqual(6)
})

it('who polls by a shorter recheck is looked for as often', async () => {
  const { clock, process } = queueing()
  const [one, two] = [process(), process()]
  await one.locks.acquire('k', { ttl: '1h' })
  two.queue({ recheck: '200ms' })
  await clock.advance(100)
  two.store.calls.length = 0
  await clock.advance(2_000)
  expect(two.store.called('queue.look')).toHaveLength(10)
})

it('who relies on a longer one is looked for every two seconds all the same: its inbox lives by that', async () => {
  const { clock, process } = queueing()
  const [one, two] = [process(), process()]
  await one.locks.acquire('k', { ttl: '1h' })
  two.queue({ recheck: '1m' })
  await clock.advance(20_000)
  expect(two.store.called('queue.look').length).toBeGreaterThanOrEqual(10)
})
