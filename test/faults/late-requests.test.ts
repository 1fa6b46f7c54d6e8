import type { LeaseStore } from '@leasehold/core/adapter'
import { startTcpProxy } from '@leasehold/testkit'
import { expect, it } from 'vitest'
import { redisArena } from '../support/arena.ts'
import { eventually } from '../support/scale.ts'

it('an acquire that arrives after its caller and both clean-ups have gone costs others its ttl, and no more', async () => {
  await using arena = await redisArena()
  await using proxy = await startTcpProxy({ port: arena.server.port })
  const [late, direct] = [arena.store(proxy.port), arena.store()]
  // Its acquires take a different connection from its releases, as after a reconnect.
  const store: LeaseStore = { ...direct, acquire: (requests, signal) => late.acquire(requests, signal) }
  const ttl = 1_500
  const a = arena.client({ store, ttl })
  await (await a.acquire('warm')).release()
  proxy.blackHole()
  const error = await a.acquire('late', { wait: 400 }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
  // This waits for its clean-up: two releases that find nothing.
  await a.close()
  const stored = (): Promise<unknown> => arena.command('GET', `${arena.prefix}late`)
  expect(await stored()).toBeNull()

  proxy.restore()
  await eventually(async () => (await stored()) !== null)
  const holder = String(await stored())
  const b = arena.client()
  const startedAt = performance.now()
  const next = await b.acquire('late', { wait: '10s' })
  expect(performance.now() - startedAt).toBeLessThan(ttl + 1_000)
  expect(next.fence).toBeGreaterThan(Number(holder.split('.').at(-1)))
  // And nobody takes it from its present holder.
  await next.renew({ ttl: '20s' })
  expect(await next.release()).toBe('released')
})
