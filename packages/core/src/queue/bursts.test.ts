import { AsyncLocalStorage } from 'node:async_hooks'
import { answered, type Fate, follow, replyAfter } from '@leasehold/testkit'
import { expect, it } from 'vitest'
import { queueing } from '../../test/queueing.ts'

it('a burst of calls has 128 requests under way at most, keeps its order, and sends nothing twice', async () => {
  const { clock, process } = queueing()
  const one = process()
  one.store.always('queue.acquire', replyAfter(300))
  const stop = new AbortController()
  const waiting = Array.from({ length: 1_000 }, () => one.queue({ signal: stop.signal }))
  await clock.advance(3_000)
  expect(one.store.mostAtOnce('queue.acquire')).toBe(128)
  const numbers = one.store.called('queue.acquire').map(({ requests: [request] }) => request?.waiter?.number)
  // The first tries before it enters.
  expect(numbers).toEqual([undefined, ...Array.from({ length: 999 }, (_, at) => at + 2)])
  expect(waiting[0]?.state).toBe('fulfilled')

  one.store.always('queue.leave', replyAfter(300))
  stop.abort()
  await clock.advance(3_000)
  expect(one.store.mostAtOnce('queue.leave')).toBe(128)
  expect(one.store.called('queue.leave')).toHaveLength(999)
})

it('a request that waits behind others is dated when it is sent', async () => {
  const { clock, process } = queueing()
  const one = process()
  one.store.always('queue.acquire', replyAfter(500))
  for (let each = 0; each < 128; each++) void one.locks.acquire(`other ${each}`)
  const late = one.queue({ renew: false })
  await clock.advance(1_000)
  expect(late.state).toBe('fulfilled')
  expect(late.value?.remaining()).toBe(10_000 - 102 - 500)
})

it('requests that nobody answers hold up the others no longer than their callers wait for them', async () => {
  const { clock, process } = queueing()
  const one = process()
  const never: Fate = () => new Promise(() => undefined)
  one.store.always('queue.acquire', never)
  const stop = new AbortController()
  for (let each = 0; each < 128; each++) follow(one.locks.acquire(`other ${each}`, { signal: stop.signal }), clock)
  await clock.advance(100)
  const late = one.queue()
  await clock.advance(100)
  one.store.always('queue.acquire', answered)
  expect(late.state).toBe('pending')
  stop.abort()
  await clock.advance(0)
  expect(late.state).toBe('fulfilled')
})

it('a call that gives up before its request was sent sends none', async () => {
  const { clock, process } = queueing()
  const one = process()
  one.store.always('queue.acquire', replyAfter(500))
  for (let each = 0; each < 128; each++) void one.locks.acquire(`other ${each}`)
  const stop = new AbortController()
  const gone = one.queue({ signal: stop.signal })
  await clock.advance(100)
  stop.abort('enough')
  await clock.advance(5_000)
  expect(gone.reason).toBe('enough')
  expect(one.store.called('queue.acquire').filter(({ requests: [request] }) => request?.key === 'k')).toEqual([])
  expect(one.store.called('queue.leave').filter(({ requests: [request] }) => request?.key === 'k')).toEqual([])
})

it('a request that has waited behind those of another caller is not sent in the context of that one', async () => {
  const tenant = new AsyncLocalStorage<string>()
  const { clock, process } = queueing()
  const one = process()
  const seen: (string | undefined)[] = []
  one.store.always('queue.acquire', (sending) => {
    if (sending.requests[0]?.key === 'k') seen.push(tenant.getStore())
    return replyAfter(100)(sending)
  })
  tenant.run('another', () => {
    for (let each = 0; each < 128; each++) void one.locks.acquire(`other ${each}`)
  })
  one.queue()
  await clock.advance(500)
  expect(seen).toEqual([undefined])
})
