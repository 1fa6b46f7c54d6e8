import { createLocker, type Duration } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import { ManualClock } from '@leasehold/testkit'
import { Hono } from 'hono'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { type BridgeEvent, createBridge, issueTicket } from './index.ts'

const token = 'token-7a3b91'
const secret = 's'.repeat(32)
const otherSecret = 'o'.repeat(32)

let clock: ManualClock
let events: BridgeEvent[]
let app: Hono
beforeEach(() => {
  clock = new ManualClock()
  events = []
  app = bridge()
})

/** Over ports that are there at once: everything here is decided before Redis would be asked. */
const bridge = (options: Partial<Parameters<typeof createBridge>[0]> = {}): Hono =>
  createBridge({
    store: memoryStore({ clock }),
    subscriber: {
      connect: async () => ({
        subscribe: async () => undefined,
        unsubscribe: async () => undefined,
        psubscribe: async () => undefined,
        close: () => undefined,
      }),
    },
    auth: { tokens: ['other-token', token], ticketSecrets: [otherSecret, secret] },
    clock,
    onEvent: (event) => events.push(event),
    ...options,
  })

const ask = async (path: string, credential: string | null = token, init: RequestInit = {}): Promise<Response> =>
  app.request(path, {
    ...init,
    headers: { ...(credential !== null && { authorization: `Bearer ${credential}` }), ...init.headers },
  })

async function expectProblem(response: Response, status: number, members: object = {}): Promise<void> {
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  expect(response.headers.get('cache-control')).toBe('no-store')
  const body: unknown = await response.json()
  expect(body).toEqual({
    type: 'about:blank',
    title: expect.stringMatching(/\w/),
    status,
    detail: expect.stringMatching(/\w/),
    ...members,
  })
  expect(JSON.stringify(body)).not.toContain(token)
}

describe('a request is refused', () => {
  test.each([
    ['no key', '/v1/wait?since=-'],
    ['an empty key', '/v1/wait?key=&since=-'],
    ['two keys', '/v1/wait?key=a&key=b&since=-'],
    ['a key of 513 bytes', `/v1/wait?key=${'x'.repeat(513)}&since=-`],
    ['no cursor', '/v1/wait?key=a'],
    ['an empty cursor', '/v1/wait?key=a&since='],
    ['a cursor with a line break', '/v1/wait?key=a&since=1%0d%0a2'],
    ['no time', '/v1/wait?key=a&since=-&timeout=0'],
    ['more than 25 s', '/v1/wait?key=a&since=-&timeout=26s'],
    ['a time in another unit', '/v1/wait?key=a&since=-&timeout=1m'],
    ['another mode', '/v1/wait?key=a&since=-&mode=all'],
    ['a stream without keys', '/v1/events'],
    ['a stream of 51 keys', `/v1/events?${Array.from({ length: 51 }, (_, index) => `key=${index}`).join('&')}`],
    ['a stream with an empty key', '/v1/events?key=a&key='],
  ])('with 400 for %s', async (_, path) => {
    await expectProblem(await ask(path), 400)
  })

  test.each([null, 'wrong', 'token', `${token}x`, 'a.b'])('with 401 for the credential %j', async (credential) => {
    const response = await ask('/v1/wait?key=a&since=-', credential)
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
    await expectProblem(response, 401)
    await expectProblem(await ask('/v1/events?key=a', credential), 401)
  })

  test('with 401 for a token in the query', async () => {
    await expectProblem(await ask(`/v1/wait?key=a&since=-&token=${token}`, null), 401)
  })

  test('with 405 for another method, with 413 for a body, with 414 for a URL of more than 4 kB', async () => {
    for (const method of ['POST', 'HEAD', 'DELETE']) {
      expect((await ask('/v1/events?key=a', token, { method })).status).toBe(405)
    }
    await expectProblem(await ask('/v1/wait?key=a&since=-', token, { headers: { 'content-length': '1' } }), 413)
    await expectProblem(await ask(`/v1/events?key=${'x'.repeat(4_096)}`), 414)
    await expectProblem(await ask('/v2/wait'), 404)
  })

  test('and told to the operator by its status', async () => {
    await ask('/v1/wait?key=a&since=-', 'wrong')
    expect(events).toEqual([{ type: 'refused', status: 401 }])
  })
})

describe('a ticket', () => {
  const wait = (key: string, ticket: string): Promise<Response> => ask(`/v1/wait?key=${key}&since=-`, ticket)
  const ticketFor = (patterns: readonly string[], expiresIn: Duration = '1m'): Promise<string> =>
    issueTicket(secret, { patterns, expiresIn, clock })

  test('lets its bearer wait for the keys of its patterns, and for no other', async () => {
    const ticket = await ticketFor(['tenant-a:*', 'shared'])
    expect((await wait('tenant-a:1', ticket)).status).toBe(200)
    expect((await wait('tenant-a:', ticket)).status).toBe(200)
    expect((await wait('shared', ticket)).status).toBe(200)
    for (const key of ['tenant-b:1', 'tenant-a', 'shared2', 'TENANT-A:1', 'x:tenant-a:1']) {
      await expectProblem(await wait(key, ticket), 403, { keys: [key] })
    }
  })

  test('for a stream must be for all of its keys, and the answer says which it is not for', async () => {
    const ticket = await ticketFor(['tenant-a:*'])
    const response = await ask('/v1/events?key=tenant-a:1&key=tenant-b:1&key=tenant-c:1', ticket)
    await expectProblem(response, 403, { keys: ['tenant-b:1', 'tenant-c:1'] })
  })

  test('is answered with the prefix under which the bridge looks, refusals too', async () => {
    const ticket = await ticketFor(['tenant-a:*'])
    for (const response of [
      await wait('tenant-a:1', ticket),
      await wait('tenant-b:1', ticket),
      await wait('a', 'wrong'),
    ]) {
      expect(response.headers.get('leasehold-prefix')).toBe('lock%3A')
      await response.body?.cancel()
    }
  })

  test('ends when its time is over, to the millisecond', async () => {
    const ticket = await ticketFor(['*'])
    await clock.advance(59_999)
    expect((await wait('a', ticket)).status).toBe(200)
    await clock.advance(1)
    await expectProblem(await wait('a', ticket), 401)
  })

  test('that was changed, signed with another secret, or not signed is none', async () => {
    const ticket = await ticketFor(['tenant-a:*'])
    const [payload, mac] = ticket.split('.') as [string, string]
    const claims = { patterns: ['*'], exp: 9_999_999_999 }
    const forged = btoa(JSON.stringify(claims)).replace(/=+$/, '')
    const foreign = await issueTicket('x'.repeat(32), { patterns: ['*'], expiresIn: '1m', clock })
    const flipped = (mac.startsWith('A') ? 'B' : 'A') + mac.slice(1)
    for (const bad of [
      `${forged}.${mac}`,
      `${payload}.${flipped}`,
      `${payload}.`,
      payload,
      `.${mac}`,
      `${ticket}.${mac}`,
      foreign,
    ]) {
      await expectProblem(await wait('tenant-a:1', bad), 401)
    }
  })

  test('signed with any of the secrets is one', async () => {
    const ticket = await issueTicket(otherSecret, { patterns: ['*'], expiresIn: '1m', clock })
    expect((await wait('a', ticket)).status).toBe(200)
  })

  test.each([[{}], [null], [{ patterns: ['a*b'], exp: 9e9 }], [{ patterns: '*', exp: 9e9 }], [{ patterns: ['*'] }]])(
    'that is signed but says %j is none',
    async (claims) => {
      const payload = btoa(JSON.stringify(claims)).replace(/=+$/, '')
      const algorithm = { name: 'HMAC', hash: 'SHA-256' }
      const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), algorithm, false, ['sign'])
      const mac = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(payload))
      const signature = Buffer.from(mac).toString('base64url')
      await expectProblem(await wait('a', `${payload}.${signature}`), 401)
    },
  )

  test('is not issued with a weak secret, no pattern, a star in the middle, or no end', async () => {
    const issue = (options: object, key = secret) =>
      issueTicket(key, { patterns: ['a*'], expiresIn: '1m', clock, ...options } as never)
    await expect(issue({}, 'short')).rejects.toThrow('"secret"')
    for (const patterns of [[], [''], ['a*b'], ['**']]) await expect(issue({ patterns })).rejects.toThrow('"patterns"')
    for (const expiresIn of [0, '1d', -1, Number.NaN]) await expect(issue({ expiresIn })).rejects.toThrow('"expiresIn"')
  })

  test('that ends while its bearer waits ends the wait', async () => {
    const store = memoryStore({ clock })
    app = bridge({ store })
    await createLocker({ store, clock }).acquire('a', { ttl: '5m', renew: false })
    const response = wait('a', await ticketFor(['a'], 1_000))
    // Signatures are checked elsewhere than on this clock.
    await expect.poll(() => events.filter(({ type }) => type === 'look')).toHaveLength(1)
    await clock.advance(1_000)
    expect((await response).status).toBe(204)
  })

  test('that ends while its stream is open ends the stream', async () => {
    const response = await ask('/v1/events?key=a', await ticketFor(['a']))
    const text = response.text()
    await clock.advance(60_000)
    expect(await text).toContain('event: state')
  })
})

describe('the limits', () => {
  beforeEach(() => {
    app = bridge({ limits: { perClient: 2, total: 3 } })
  })

  test('of one client refuse its next request with 429, and leave others alone', async () => {
    const ticket = await issueTicket(secret, { patterns: ['*'], expiresIn: '1m', subject: 'x', clock })
    const same = await issueTicket(secret, { patterns: ['a*'], expiresIn: '2m', subject: 'x', clock })
    const streams = [await ask('/v1/events?key=a', ticket), await ask('/v1/events?key=a', same)]
    const refused = await ask('/v1/wait?key=a&since=-', ticket)
    expect(refused.headers.get('retry-after')).toBe('1')
    await expectProblem(refused, 429)
    expect((await ask('/v1/wait?key=b&since=-')).status).toBe(200)
    for (const { body } of streams) await body?.cancel()
    expect((await ask('/v1/wait?key=c&since=-', ticket)).status).toBe(200)
  })

  test('in total refuse whoever comes, until somebody leaves', async () => {
    const streams = [await ask('/v1/events?key=a'), await ask('/v1/events?key=a')]
    const other = await ask('/v1/events?key=a', 'other-token')
    await expectProblem(await ask('/v1/events?key=a', 'other-token'), 429)
    await other.body?.cancel()
    streams.push(await ask('/v1/events?key=a', 'other-token'))
    expect(streams.at(-1)?.status).toBe(200)
    for (const { body } of streams) await body?.cancel()
  })
})

describe('other origins', () => {
  const origin = 'https://app.example'

  test('are told nothing by default', async () => {
    const response = await ask('/v1/wait?key=a&since=-', token, { headers: { origin } })
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('may ask if they are in the list, and others may not', async () => {
    app = bridge({ cors: { origins: [origin] } })
    const preflight = await ask('/v1/wait?key=a&since=-', null, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe(origin)
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization')
    const response = await ask('/v1/wait?key=a&since=-', token, { headers: { origin } })
    expect(response.headers.get('access-control-allow-origin')).toBe(origin)
    expect(response.headers.get('access-control-expose-headers')).toContain('leasehold-cursor')
    const other = await ask('/v1/wait?key=b&since=-', token, { headers: { origin: 'https://evil.example' } })
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
  })
})

test.each([
  [{ store: {} }, 'store'],
  [{ subscriber: undefined }, 'subscriber'],
  [{ prefix: '' }, 'prefix'],
  [{ prefix: '{a' }, 'prefix'],
  [{ auth: {} }, 'auth'],
  [{ auth: { tokens: ['with space'] } }, 'auth.tokens'],
  [{ auth: { ticketSecrets: ['short'] } }, 'auth.ticketSecrets'],
  [{ limits: { total: 0 } }, 'limits.total'],
  [{ heartbeatMs: 15_001 }, 'heartbeatMs'],
  [{ cors: { origins: ['*'] } }, 'cors.origins'],
])('the options %j are refused by name', (options, option) => {
  expect(() => bridge(options as never)).toThrow(`Option "${option}"`)
})

test('a stream ends after a quarter of an hour at most, so that a half-open one does not stay for ever', async () => {
  const text = (await ask('/v1/events?key=a')).text()
  await clock.advance(15 * 60_000)
  expect(await text).toContain('event: state')
  expect(events.findLast(({ type }) => type === 'streams')).toEqual({ type: 'streams', open: 0 })
})

test('a long poll ends a little sooner than it might, so that clients do not come back together', async () => {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.5)
  const store = memoryStore({ clock })
  app = bridge({ store })
  await createLocker({ store, clock, renew: false }).acquire('a', { ttl: '1h' })
  let status: number | undefined
  const asked = ask('/v1/wait?key=a&since=-').then((response) => {
    status = response.status
  })
  await expect.poll(() => events).toContainEqual({ type: 'waits', open: 1 })
  await clock.advance(23_799)
  expect(status).toBeUndefined()
  await clock.advance(1)
  await asked
  expect(status).toBe(204)
  random.mockRestore()
})

test('it answers as well below a path of another app', async () => {
  const outer = new Hono().route('/bridge', app)
  const headers = { authorization: `Bearer ${token}` }
  expect((await outer.request('/bridge/v1/wait?key=a&since=-', { headers })).status).toBe(200)
  expect((await outer.request('/bridge/v1/wait?key=a&since=-')).status).toBe(401)
  expect((await outer.request('/bridge/healthz')).status).toBe(200)
})

test('a listener that throws changes nothing', async () => {
  app = bridge({
    onEvent() {
      throw new Error('a bug')
    },
  })
  expect((await ask('/v1/wait?key=a&since=-')).status).toBe(200)
})
