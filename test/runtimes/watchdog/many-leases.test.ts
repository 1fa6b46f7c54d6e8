import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { systemClock } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'
import { expect, test } from 'vitest'
import { driven, world } from './world.ts'

/** Leases taken throughout one interval, as by a thousand Workers. */
const count = 1_000

test('1,000 leases for five minutes: none lost, and few requests', async () => {
  const { object, others, store, clock, pass, adoptAll } = driven()
  const tokens = await adoptAll(count, 20, '120s')
  store.calls.length = 0
  const alarms = await pass(300_000, { stepMs: 300_000 })
  const sizes = store.called('renew').map(({ requests }) => requests.length)
  const intervals = 300_000 / 40_000
  console.log(
    `${count} leases, 5 minutes: ${sizes.length} requests (${(sizes.length / intervals).toFixed(1)} an interval), ` +
      `${alarms} alarms, up to ${Math.max(...sizes)} leases a request`,
  )
  // One per interval.
  expect(sizes.length).toBeLessThanOrEqual(Math.ceil(intervals))
  expect(await object.status()).toMatchObject({ leases: count, unanswered: 0 })
  for (const key of tokens.keys()) expect(await others.tryAcquire(key)).toBeNull()
  expect(clock.pending).toBe(0)
})

test('1,000 leases that are due are one HTTP request', async () => {
  const requests: number[] = []
  const gateway = { url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN }
  const counted: typeof fetch = (url, init) => {
    requests.push(String((init as RequestInit).body).length)
    return fetch(url, init)
  }
  const { object, stub, clock, adoptAll, deliver } = driven()
  world.settings = {
    ...world.settings,
    store: fetchStore({ ...gateway, fetch: counted as never }),
    // A real request takes real time, and its deadline is real, too.
    clock: { monotonicMs: () => clock.monotonicMs(), wallMs: () => clock.wallMs(), schedule: systemClock.schedule },
  }
  await adoptAll(count, 1, '120s', fetchStore(gateway))
  const dueInMs = await runInDurableObject(stub(), (_, { storage }) => storage.getAlarm())
  await clock.advance((dueInMs ?? 0) - clock.wallMs())
  // The server may not know the script yet.
  await deliver()
  await clock.advance(41_000)
  requests.length = 0
  const since = performance.now()
  await deliver()
  console.log(
    `${count} leases: ${requests.length} request, ${Math.round((requests[0] ?? 0) / 1024)} kB, ${Math.round(performance.now() - since)} ms`,
  )
  expect(requests).toHaveLength(1)
  expect(await object.status()).toMatchObject({
    leases: count,
    unanswered: 0,
    lastRequest: { leases: count, trouble: null },
  })
})
