import { startTcpProxy } from '@leasehold/testkit'
import { startRedis } from '@leasehold/testkit/redis'
import { expect, test } from 'vitest'
import { startTestWorker } from '../../test/durable-object.ts'
import { type BridgeObjectSettings, bridgeObject } from './index.ts'

const token = 'sesame-0123456789abcdef0123456789ab'
const sound = { redisUrl: 'redis://user:sesame@127.0.0.1:1', auth: { tokens: [token] } }

/**
 * The answer of an object with these settings. It is an ordinary class, which needs no workerd to report that it is not
 * set up.
 */
const headers = { authorization: `Bearer ${token}` }
async function answerOf(settings: object, path = '/readyz'): Promise<{ status: number; type: string; detail: string }> {
  const Bridge = bridgeObject(() => settings as BridgeObjectSettings)
  const response = await new Bridge(undefined, {}).fetch(new Request(`https://bridge.internal${path}`, { headers }))
  const { detail } = (await response.json()) as { readonly detail: string }
  return { status: response.status, type: response.headers.get('content-type') ?? '', detail }
}

test.each<[string, string, object]>([
  ['redisUrl', 'none', { ...sound, redisUrl: undefined }],
  ['redisUrl', 'an empty one', { ...sound, redisUrl: '' }],
  ['redisUrl', 'of another kind', { ...sound, redisUrl: 'https://user:sesame@redis.example' }],
  ['redisUrl', 'without a host', { ...sound, redisUrl: 'redis:///0' }],
  ['redisUrl', 'with a database that is no number', { ...sound, redisUrl: 'redis://user:sesame@127.0.0.1:1/sesame' }],
  ['redisUrl', 'with a port that is none', { ...sound, redisUrl: 'redis://user:sesame@127.0.0.1:sesame' }],
  ['redisUrl', 'with a password that is not encoded', { ...sound, redisUrl: 'redis://user:%sesame@127.0.0.1:1' }],
  ['auth', 'none', { ...sound, auth: undefined }],
  ['auth.tokens', 'a secret that is not set', { ...sound, auth: { tokens: [undefined] } }],
  ['auth.tokens', 'a short one', { ...sound, auth: { tokens: ['sesame'] } }],
  ['auth.tokens', 'one that no header can carry', { ...sound, auth: { tokens: [`${token} open`] } }],
  ['auth.ticketSecrets', 'a short one', { ...sound, auth: { ticketSecrets: ['sesame'] } }],
  ['prefix', 'one that no store takes', { ...sound, prefix: '{sesame' }],
  ['lingerMs', 'no whole number', { ...sound, lingerMs: 0.5 }],
  ['metrics.token', 'none', { ...sound, metrics: { page: async () => ({ contentType: '', text: '' }) } }],
  ['auth.longestTicket', 'no time', { ...sound, auth: { tokens: [token], longestTicket: 'sesame' } }],
  ['heartbeatMs', 'a silence that proxies cut', { ...sound, heartbeatMs: 60_000 }],
])('%s, %s: every answer names it, and shows no secret', async (option, _, settings) => {
  for (const path of ['/healthz', '/readyz', '/v1/wait?key=a&since=-']) {
    const { status, type, detail } = await answerOf(settings, path)
    expect([status, type]).toEqual([500, 'application/problem+json'])
    expect(detail).toMatch(new RegExp(`^The bridge is not set up. Option "${option}" `))
    expect(detail).not.toContain('sesame')
  }
})

test('what the function of the settings throws by itself fails the request, and is not shown', async () => {
  const Bridge = bridgeObject(() => {
    throw new TypeError('sesame')
  })
  const answer = new Bridge(undefined, {}).fetch(new Request('https://bridge.internal/healthz'))
  await expect(answer).rejects.toThrow(TypeError)
})

test('nothing is connected before the settings are all sound', async () => {
  await using redis = await startTcpProxy({ port: 1 })
  const redisUrl = `redis://127.0.0.1:${redis.port}`
  expect((await answerOf({ ...sound, redisUrl }, '/readyz')).status).toBe(503)
  await expect.poll(() => redis.accepted).toBeGreaterThan(0)
  const before = redis.accepted
  redis.refuse()
  expect((await answerOf({ ...sound, redisUrl, lingerMs: -1 }, '/readyz')).status).toBe(500)
  await new Promise((resolve) => setImmediate(resolve))
  expect(redis.accepted).toBe(before)
})

test('in a Worker, a secret that is not set is a 500 that says so, and a Redis that is not there a 503', async () => {
  await using unset = await startTestWorker({})
  const response = await unset.get('/readyz')
  expect(response.status).toBe(500)
  expect(await response.text()).toContain('Option \\"redisUrl\\" must be')
  expect(unset.complaints).toEqual([])

  await using alone = await startTestWorker({ redisUrl: 'redis://user:sesame@127.0.0.1:1' })
  const unavailable = await alone.get('/readyz')
  expect([unavailable.status, unavailable.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await unavailable.text()).not.toContain('sesame')
  expect(alone.complaints.join()).not.toContain('sesame')
})

test('its prefix and its limits are those of the settings', async () => {
  await using redis = await startRedis()
  const settings = { prefix: 'mine:', limits: { total: 1 } }
  await using worker = await startTestWorker({ redisUrl: redis.url, settings })
  await redis.command('SET', 'mine:held', 'somebody')
  const waiting = worker.wait('held', '-', '&timeout=5s')
  await worker.opened('waits', 1)
  expect((await worker.wait('held', '-')).status).toBe(429)
  await redis.command('DEL', 'mine:held')
  await redis.command('PUBLISH', 'mine:release:held', '')
  expect((await waiting).status).toBe(200)
})
