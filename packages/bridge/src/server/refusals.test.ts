import { createLocker, type Duration } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import { ManualClock } from '@leasehold/testkit'
import { Hono } from 'hono'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { type BridgeEvent, createBridge, issueTicket } from './index.ts'

const token = 'token-7a3b91-0123456789abcdef0123456'
const otherToken = 'other-token-0123456789abcdef0123456789'
const secret = 's'.repeat(32)
const otherSecret = 'o'.repeat(32)

const metricsToken = 'metrics-token-0123456789abcdef012345'
const metrics = { page: async () => ({ contentType: 'text/plain', text: 'waits 0' }), token: metricsToken }

let clock: ManualClock
let events: BridgeEvent[]
let app: Hono
beforeEach(() => {
  clock = new ManualClock()
  events = []
  app = bridge()
})

/** A bridge over ports that are ready at once: everything here is decided before Redis would be asked. */
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
    auth: { tokens: [otherToken, token], ticketSecrets: [otherSecret, secret] },
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
    ['what is no name of a waiter', `/v1/wait?key=a&since=-&waiter=${'a'.repeat(31)}.1`],
    ['a waiter without a number', `/v1/wait?key=a&since=-&waiter=${'a'.repeat(32)}.`],
    ['what is no inbox', '/v1/events?key=a&inbox=b'],
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

  test('with 405 for another method, which names the right one', async () => {
    for (const method of ['POST', 'HEAD', 'DELETE', 'OPTIONS', 'PUT']) {
      for (const path of ['/v1/events?key=a', '/v1/wait?key=a&since=-']) {
        const response = await ask(path, token, { method })
        expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET'])
      }
    }
    await expectProblem(await ask('/v1/events?key=a', token, { method: 'POST' }), 405)
    app = bridge({ cors: { origins: ['https://app.example'] } })
    expect((await ask('/v1/events?key=a', token, { method: 'POST' })).headers.get('allow')).toBe('GET, OPTIONS')
    app = bridge({ metrics })
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      const response = await ask(path, metricsToken, { method: 'POST' })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
      expect((await ask(path, metricsToken, { method: 'HEAD' })).status).toBe(200)
    }
  })

  test('with 404 for what is no path, whatever the method', async () => {
    for (const path of ['/', '/v2/wait', '/v1/nothing', '/metrics']) {
      await expectProblem(await ask(path), 404)
      await expectProblem(await ask(path, token, { method: 'POST' }), 404)
    }
  })

  test('with 413 for a body, with 414 for a URL of more than 4 kB', async () => {
    await expectProblem(await ask('/v1/wait?key=a&since=-', token, { headers: { 'content-length': '1' } }), 413)
    await expectProblem(await ask(`/v1/events?key=${'x'.repeat(4_096)}`), 414)
  })

  test('and told to the operator by its status', async () => {
    await ask('/v1/wait?key=a&since=-', 'wrong')
    expect(events).toEqual([{ type: 'refused', status: 401 }])
  })
})

describe('a ticket', () => {
  const wait = (key: string, ticket: string): Promise<Response> => ask(`/v1/wait?key=${key}&since=-`, ticket)
  const ticketFor = (patterns: readonly string[], expiresInMs: Duration = '1m'): Promise<string> =>
    issueTicket(secret, { patterns, expiresInMs, clock })

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

  test('is answered with the prefix under which the bridge checks, refusals too', async () => {
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
    const foreign = await issueTicket('x'.repeat(32), { patterns: ['*'], expiresInMs: '1m', clock })
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
    const ticket = await issueTicket(otherSecret, { patterns: ['*'], expiresInMs: '1m', clock })
    expect((await wait('a', ticket)).status).toBe(200)
  })

  /** Signs arbitrary text, as another issuer may. */
  async function signed(text: string): Promise<string> {
    const payload = Buffer.from(text).toString('base64url')
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), algorithm, false, ['sign'])
    const mac = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(payload))
    return `${payload}.${Buffer.from(mac).toString('base64url')}`
  }
  const soon = (): number => clock.wallMs() / 1_000 + 60

  test.each([
    '{}',
    'null',
    '{"patterns":["a*b"],"exp":SOON}',
    '{"patterns":"*","exp":SOON}',
    '{"patterns":[],"exp":SOON}',
    '{"patterns":["*",null],"exp":SOON}',
    '{"patterns":["*"]}',
    '{"patterns":["*"],"exp":"SOON"}',
    '{"patterns":["*"],"exp":1e999}',
    '{"patterns":["*"],"exp":SOON,"sub":1}',
    '{"patterns":["*"],"exp":SOON,"sub":null}',
  ])('that is signed but says %s is none', async (text) => {
    await expectProblem(await wait('a', await signed(text.replace('SOON', String(soon())))), 401)
  })

  test('that another issuer has signed is one', async () => {
    const ticket = await signed(JSON.stringify({ patterns: ['a'], exp: soon(), iss: 'somebody' }))
    expect((await wait('a', ticket)).status).toBe(200)
  })

  test('that ends too far away is none, whoever signed it, until its end has come near enough', async () => {
    const ending = async (inMs: number): Promise<string> =>
      signed(JSON.stringify({ patterns: ['*'], exp: (clock.wallMs() + inMs) / 1_000 }))
    const hundredYears = await ending(100 * 365 * 86_400_000)
    await expectProblem(await wait('a', hundredYears), 401)
    await expectProblem(await ask('/v1/events?key=a', hundredYears), 401)
    const day = 86_400_000
    // The issuer's clock may be five minutes ahead.
    expect((await wait('a', await ending(day + 300_000))).status).toBe(200)
    const late = await ending(day + 300_001)
    await expectProblem(await wait('a', late), 401)
    await clock.advance(1)
    expect((await wait('b', late)).status).toBe(200)
  })

  test('may end as late as the bridge was told', async () => {
    const ticket = await issueTicket(secret, { patterns: ['*'], expiresInMs: '1h', clock })
    const auth = { tokens: [token], ticketSecrets: [secret] }
    app = bridge({ auth: { ...auth, longestTicket: '15m' } })
    await expectProblem(await wait('a', ticket), 401)
    const long = await issueTicket(secret, { patterns: ['*'], expiresInMs: '720h', longestTicket: '720h', clock })
    app = bridge({ auth: { ...auth, longestTicket: '720h' } })
    expect((await wait('a', long)).status).toBe(200)
  })

  test('is not issued if no bridge would let it in, or with a weak secret', async () => {
    const issue = (options: object, key = secret) =>
      issueTicket(key, { patterns: ['a*'], expiresInMs: '1m', clock, ...options } as never)
    const refused = (options: object, option: string, key?: string) =>
      expect(issue(options, key)).rejects.toMatchObject({ code: 'INVALID_OPTION', option })
    await refused({}, 'secret', 'short')
    const noPatterns = [undefined, 'a', [], [''], ['a*b'], ['**'], ['a', 5], [null], new Array(1), [1n]]
    for (const patterns of noPatterns) await refused({ patterns }, 'patterns')
    for (const subject of [5, null, {}, 1n]) await refused({ subject }, 'subject')
    const noTimes = [undefined, 0, '1d', -1, Number.NaN, Number.POSITIVE_INFINITY, '25h', 86_400_001]
    for (const expiresInMs of noTimes) await refused({ expiresInMs }, 'expiresInMs')
    await refused({ longestTicket: 'never' }, 'longestTicket')
    await refused({ clock: { ...clock, wallMs: () => Number.NaN } }, 'expiresInMs')
  })

  test('may be as long as a bridge takes it, and is not issued longer', async () => {
    // The payload has four characters for every three bytes.
    const around = JSON.stringify({ patterns: [''], exp: soon() }).length
    const longest = 'k'.repeat(3_072 - around)
    expect((await wait('a', await ticketFor([longest]))).status).toBe(403)
    await expect(ticketFor([`${longest}k`])).rejects.toMatchObject({ code: 'INVALID_OPTION', option: 'patterns' })
  })

  test('that ends while its bearer waits ends the wait', async () => {
    const store = memoryStore({ clock })
    app = bridge({ store })
    await createLocker({ store, clock }).acquire('a', { ttl: '5m', renew: false })
    const response = wait('a', await ticketFor(['a'], 1_000))
    // Verifying the signature takes real time, not time on this clock.
    await expect.poll(() => events.filter(({ type }) => type === 'check')).toHaveLength(1)
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

describe('the numbers', () => {
  test('are for who has their token, which is none for waiting, nor the other way around', async () => {
    app = bridge({ metrics })
    for (const credential of [null, token, 'x'.repeat(36)]) {
      const response = await ask('/metrics', credential)
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      await expectProblem(response, 401)
    }
    const response = await ask('/metrics', metricsToken)
    expect([response.status, await response.text()]).toEqual([200, 'waits 0'])
    expect(response.headers.get('cache-control')).toBe('no-store')
    await expectProblem(await ask('/v1/wait?key=a&since=-', metricsToken), 401)
  })

  test('are made once for all who ask meanwhile, and soon after', async () => {
    let made = 0
    const page = async () => {
      await new Promise<void>((resolve) => clock.schedule(resolve, 20))
      if (++made === 2) throw new Error('a bug')
      return { contentType: 'text/plain', text: `page ${made}` }
    }
    app = bridge({ metrics: { page, token: metricsToken } })
    const read = async (): Promise<string> => (await ask('/metrics', metricsToken)).text()
    const asked = [read(), read(), read()]
    await expect.poll(() => clock.pending).toBe(1)
    await clock.advance(20)
    expect(await Promise.all(asked)).toEqual(['page 1', 'page 1', 'page 1'])
    // The page took 20 ms to make, and is served for ten times as long.
    await clock.advance(199)
    expect(await read()).toBe('page 1')
    await clock.advance(1)
    const failing = ask('/metrics', metricsToken)
    await expect.poll(() => clock.pending).toBe(1)
    await clock.advance(20)
    await expectProblem(await failing, 500)
    await clock.advance(200)
    const again = read()
    await expect.poll(() => clock.pending).toBe(1)
    await clock.advance(20)
    expect(await again).toBe('page 3')
  })
})

describe('the limits', () => {
  beforeEach(() => {
    app = bridge({ limits: { perClient: 2, total: 3 } })
  })

  test('of one client refuse its next request with 429, and leave others alone', async () => {
    const ticket = await issueTicket(secret, { patterns: ['*'], expiresInMs: '1m', subject: 'x', clock })
    const same = await issueTicket(secret, { patterns: ['a*'], expiresInMs: '2m', subject: 'x', clock })
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
    const other = await ask('/v1/events?key=a', otherToken)
    await expectProblem(await ask('/v1/events?key=a', otherToken), 429)
    await other.body?.cancel()
    streams.push(await ask('/v1/events?key=a', otherToken))
    expect(streams.at(-1)?.status).toBe(200)
    for (const { body } of streams) await body?.cancel()
  })

  test('of one key refuse a client that has its places there, and nobody else', async () => {
    app = bridge({ limits: { perKey: 1 } })
    const stream = await ask('/v1/events?key=a&key=b')
    await expectProblem(await ask('/v1/wait?key=b&since=-'), 429)
    expect((await ask('/v1/wait?key=c&since=-')).status).toBe(200)
    const streams = [await ask('/v1/events?key=b', otherToken)]
    await stream.body?.cancel()
    streams.push(await ask('/v1/events?key=b'))
    expect(streams.map(({ status }) => status)).toEqual([200, 200])
    for (const { body } of streams) await body?.cancel()
  })

  test('of the rate count each key of a stream, and Retry-After says when something is left', async () => {
    app = bridge({ limits: { keysPerSecond: 10 } })
    const keys = Array.from({ length: 50 }, (_, index) => `key=k${index}`).join('&')
    await (await ask(`/v1/events?${keys}`)).body?.cancel()
    const refused = await ask('/v1/wait?key=a&since=-')
    expect(refused.headers.get('retry-after')).toBe('3')
    await expectProblem(refused, 429)
    const others = ask('/v1/wait?key=a&since=-', otherToken)
    // Reporting the states of 50 keys takes more than one turn.
    await clock.advance(3_000)
    expect((await others).status).toBe(200)
    expect((await ask('/v1/wait?key=b&since=-')).status).toBe(200)
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
    expect(preflight.headers.get('access-control-allow-headers')?.split(',')).toEqual([
      'authorization',
      'cache-control',
    ])
    const response = await ask('/v1/wait?key=a&since=-', token, { headers: { origin } })
    expect(response.headers.get('access-control-allow-origin')).toBe(origin)
    expect(response.headers.get('access-control-expose-headers')).toBe(
      'leasehold-cursor,leasehold-kept,leasehold-prefix,retry-after',
    )
    const other = await ask('/v1/wait?key=b&since=-', token, { headers: { origin: 'https://evil.example' } })
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('are let see why they are refused, and the prefix', async () => {
    let isBroken = false
    const stopping = new AbortController()
    const options = { cors: { origins: [origin] }, limits: { total: 1 }, signal: stopping.signal }
    app = bridge(options)
    const ticket = await issueTicket(secret, { patterns: ['a'], expiresInMs: '1m', clock })
    const get = (path: string, credential: string = token) => ask(path, credential, { headers: { origin } })
    const stream = await get('/v1/events?key=a')
    const answers = [
      await get('/v1/wait'),
      await get('/v1/wait?key=a&since=-', 'wrong'),
      await get('/v1/wait?key=b&since=-', ticket),
      await get('/v1/nothing'),
      await get(`/v1/events?key=${'x'.repeat(4_096)}`),
      await get('/v1/wait?key=a&since=-'),
    ]
    await stream.body?.cancel()
    stopping.abort()
    answers.push(await get('/v1/wait?key=a&since=-'), await get('/v1/events?key=a'))
    app = bridge({
      ...options,
      clock: {
        monotonicMs() {
          if (isBroken) throw new Error('a bug')
          return clock.monotonicMs()
        },
        wallMs: () => clock.wallMs(),
        schedule: (...timer) => clock.schedule(...timer),
      },
    })
    isBroken = true
    answers.push(await get('/v1/events?key=a'))
    expect(answers.map(({ status }) => status)).toEqual([400, 401, 403, 404, 414, 429, 503, 503, 500])
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.get('access-control-expose-headers')).toContain('retry-after')
      expect(headers.get('leasehold-prefix')).toBe('lock%3A')
    }
  })
})

test.each([
  [{ store: {} }, 'store'],
  [{ subscriber: undefined }, 'subscriber'],
  [{ prefix: '' }, 'prefix'],
  [{ prefix: '{a' }, 'prefix'],
  [{ auth: {} }, 'auth'],
  [{ auth: { tokens: [`with ${token}`] } }, 'auth.tokens'],
  [{ auth: { tokens: [token, 's'.repeat(31)] } }, 'auth.tokens'],
  [{ auth: { ticketSecrets: ['short'] } }, 'auth.ticketSecrets'],
  [{ auth: { tokens: [token], longestTicket: '0s' } }, 'auth.longestTicket'],
  [{ auth: { tokens: [token], longestTicket: 'P1D' } }, 'auth.longestTicket'],
  [{ store: { check: () => undefined } }, 'store'],
  [{ limits: { total: 0 } }, 'limits.total'],
  [{ limits: { perKey: 0 } }, 'limits.perKey'],
  [{ limits: { keysPerSecond: 0.5 } }, 'limits.keysPerSecond'],
  [{ heartbeatMs: 15_001 }, 'heartbeatMs'],
  [{ metrics: { token } }, 'metrics.page'],
  [{ metrics: { page: metrics.page } }, 'metrics.token'],
  [{ metrics: { page: metrics.page, token: 's'.repeat(31) } }, 'metrics.token'],
  [{ metrics: { page: metrics.page, token } }, 'metrics.token'],
  [{ cors: { origins: ['*'] } }, 'cors.origins'],
])('the options %j are refused by name', (options, option) => {
  expect(() => bridge(options as never)).toThrow(`Option "${option}"`)
  expect(() => bridge(options as never)).not.toThrow(/sss/)
})

test('a stream ends after a quarter of an hour at most, so that a half-open one does not stay for ever', async () => {
  const text = (await ask('/v1/events?key=a')).text()
  await clock.advance(15 * 60_000)
  expect(await text).toContain('event: state')
  expect(events.findLast(({ type }) => type === 'streams')).toEqual({ type: 'streams', open: 0 })
})

test('a long poll ends with jitter, so that clients do not come back together', async () => {
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
