import { EventEmitter, once } from 'node:events'
import { createLocker, type LockerEvent } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Server, startServer } from './server.ts'

let redis: RedisServer
let client: Redis
beforeEach(async () => {
  redis = await startRedis()
  client = new Redis(redis.url).on('error', () => undefined)
})
afterEach(async () => {
  client.disconnect()
  await redis.stop()
})

/** Starts a server. `seen` resolves when its locker has reported an event of that type. */
async function start(
  env: Record<string, string>,
): Promise<{ server: Server; seen: (type: LockerEvent['type']) => Promise<void> }> {
  const events = new EventEmitter()
  const server = await startServer({ REDIS_URL: redis.url, ...env }, ({ type }) => events.emit(type))
  return { server, seen: async (type) => void (await once(events, type)) }
}

const process = (server: Server, orderId: string): Promise<Response> =>
  fetch(`${server.url}/api/orders/process`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ orderId, userId: 'u-1', productId: 'p-1', quantity: 1 }),
  })

const typeOf = async (response: Response): Promise<string> => ((await response.json()) as { type: string }).type

const charges = async (orderId: string): Promise<number> => {
  const lines = await client.lrange('shop:ledger', 0, -1)
  return lines.filter((line) => JSON.parse(line).effect === `charge:${orderId}`).length
}

test('an order that somebody else has at hand is answered with 409 and when to ask again', async () => {
  await using server = (await start({ LOCK_WAIT: '500ms' })).server
  await using _ = await createLocker({ store: ioredisStore(client) }).acquire('order:o-1')
  const answer = await process(server, 'o-1')
  expect([answer.status, answer.headers.get('retry-after'), await typeOf(answer)]).toEqual([
    409,
    '1',
    '/problems/contended',
  ])
})

test('a store that does not answer is a 503, for health too, and passes', async () => {
  await using server = (await start({ LOCK_TTL: '3s' })).server
  redis.pause()
  const answer = await process(server, 'o-1')
  expect([answer.status, await typeOf(answer)]).toEqual([503, '/problems/store-unavailable'])
  expect((await fetch(`${server.url}/healthz`)).status).toBe(503)
  redis.resume()
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  expect((await process(server, 'o-1')).status).toBe(201)
})

test('a lock that is revoked during the work is a 500, nothing is charged, and asking again works', async () => {
  const { server, seen } = await start({ LOCK_TTL: '1500ms', WORK_MS: '2500' })
  await using _ = server
  const held = seen('acquired')
  const pending = process(server, 'o-1')
  await held
  await createLocker({ store: ioredisStore(client) }).revoke('order:o-1')
  const answer = await pending
  expect([answer.status, await typeOf(answer)]).toEqual([500, '/problems/lease-lost'])
  expect(await charges('o-1')).toBe(0)
  expect((await process(server, 'o-1')).status).toBe(201)
})

test('a server that was frozen while it held the lock cannot charge after another has', async () => {
  const settings = { LOCK_TTL: '1500ms', WORK_MS: '2000' }
  const { server: frozen, seen } = await start({ ...settings, SERVER_NAME: 'frozen' })
  const { server: other } = await start({ ...settings, SERVER_NAME: 'other' })
  await using _ = frozen
  await using __ = other
  const held = seen('acquired')
  const pending = process(frozen, 'o-1')
  await held
  frozen.kill('SIGSTOP')
  const answer = await process(other, 'o-1')
  expect(await answer.json()).toMatchObject({ processedBy: 'other', duplicate: false })
  frozen.kill('SIGCONT')
  // The server notices one of two things first: its lease is gone, or its command has taken far too long.
  expect(['/problems/lease-lost', '/problems/store-unavailable']).toContain(await typeOf(await pending))
  expect(await charges('o-1')).toBe(1)
  expect(await (await process(frozen, 'o-1')).json()).toMatchObject({ processedBy: 'other', duplicate: true })
})

test('SIGTERM lets running work end, gives back its lock, and refuses what waits', async () => {
  const { server, seen } = await start({ WORK_MS: '2000' })
  const inside = Promise.all([seen('acquired'), seen('contended')])
  const requests = [process(server, 'o-1'), process(server, 'o-1')]
  await inside
  const code = await server.stop()
  const [worked, refused] = (await Promise.all(requests)).sort((one, other) => one.status - other.status)
  expect([worked?.status, refused?.status]).toEqual([201, 503])
  expect(await typeOf(refused as Response)).toBe('/problems/shutting-down')
  expect(code).toBe(0)
  expect(await client.exists('lock:order:o-1')).toBe(0)
})
