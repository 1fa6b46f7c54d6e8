import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { Hono } from 'hono'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway, token } from '../../test/gateway.ts'
import { createGateway, defaultCommands } from './index.ts'

const secret = 'second-token-a8c1-0123456789abcdef-0123456789'

let gateway: TestGateway
const errors: unknown[] = []
beforeAll(async () => {
  gateway = await startTestGateway({
    tokens: [token, secret],
    maxBodyBytes: 2_000,
    maxPipeline: 10,
    onError: (error) => errors.push(error),
  })
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  expect(errors).toEqual([])
})
beforeEach(async () => {
  await gateway.server.command('FLUSHALL')
})

const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  gateway.request(path, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) })

async function expectError(response: Response, status: number, error: RegExp): Promise<void> {
  expect({ status: response.status, body: await response.json() }).toEqual({
    status,
    body: { error: expect.stringMatching(error) },
  })
  expect(response.headers.get('content-type')).toBe('application/json')
}

describe('without a valid token nothing is answered', () => {
  test.each([
    ['none', undefined],
    ['another', 'Bearer other'],
    ['an empty one', 'Bearer '],
    ['the beginning of one', `Bearer ${token.slice(0, -1)}`],
    ['one and more', `Bearer ${token}0`],
    ['two at once', `Bearer ${token} ${secret}`],
    ['both joined', `Bearer ${token}, Bearer ${secret}`],
    ['another scheme', `Basic ${token}`],
    ['no scheme', token],
    ['other letters', `Bearer ${token.toUpperCase()}`],
  ])('%s', async (_, authorization) => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
    for (const [method, path] of [
      ['POST', '/'],
      ['POST', '/pipeline'],
      ['POST', '/multi-exec'],
      ['GET', '/get/a'],
      ['GET', '/subscribe/a'],
      ['GET', '/nothing'],
    ] as const) {
      const response = await fetch(gateway.url + path, { method, headers })
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      await expectError(response, 401, /^Unauthorized/)
    }
  })

  test('a token in the query is none: addresses end up in logs', async () => {
    await expectError(await fetch(`${gateway.url}/get/a?_token=${token}`), 401, /^Unauthorized/)
    expect(await (await gateway.request(`/set/a/b?_token=${token}`)).json()).toEqual({ result: 'OK' })
  })

  test('each of the tokens is valid, whatever the case of the scheme', async () => {
    for (const authorization of [`Bearer ${token}`, `Bearer ${secret}`, `bearer ${token}`, `BEARER  ${token}`]) {
      expect((await fetch(`${gateway.url}/get/a`, { headers: { authorization } })).status).toBe(200)
    }
  })

  test('the unmodified client is told so', async () => {
    await expect(gateway.client({ token: 'wrong' }).get('a')).rejects.toMatchObject({
      name: 'UpstashError',
      message: expect.stringMatching(/^Unauthorized/),
    })
  })

  test('but that it runs, and whether its Redis answers, is told to everyone', async () => {
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200)
    expect(await (await fetch(`${gateway.url}/readyz`)).json()).toEqual({ result: 'OK' })
  })
})

describe('commands', () => {
  test.each([
    ...['KEYS *', 'FLUSHALL', 'FLUSHDB', 'CONFIG GET *', 'SHUTDOWN', 'DEBUG SLEEP 1', 'MONITOR', 'INFO', 'ACL LIST'],
    ...['BLPOP a 0', 'brpop a 0', 'BLMOVE a b LEFT LEFT 0', 'WAIT 1 0', 'SCRIPT FLUSH', 'SCRIPT KILL', 'SCRIPT'],
    ...[
      'MULTI',
      'EXEC',
      'WATCH a',
      'SELECT 1',
      'AUTH x',
      'HELLO 3',
      'CLIENT REPLY OFF',
      'RESET',
      'QUIT',
      'SUBSCRIBE a',
    ],
    ...['XREAD BLOCK 0 STREAMS s $', 'XREADGROUP GROUP streams c block 0 STREAMS s >', 'UNSUBSCRIBE', 'NONSENSE'],
  ])('%s is refused', async (command) => {
    await expectError(await post('/', command.split(' ')), 400, /^NOPERM /)
    await expectError(await gateway.request(`/${command.replaceAll(' ', '/')}`), 400, /^NOPERM /)
  })

  test('an argument that is a body does not get around it', async () => {
    await expectError(await post('/xread?0=STREAMS&s=$', 'BLOCK'), 400, /^NOPERM 'XREAD' cannot BLOCK/)
    await expectError(await post('/script', 'FLUSH'), 400, /^NOPERM 'SCRIPT'/)
  })

  test('what is not a name is not quoted back', async () => {
    const response = await post('/', [`Bearer ${token}`])
    expect(await response.text()).toBe('{"error":"NOPERM the command is not allowed by this gateway"}')
  })

  test('in a pipeline, one is refused by itself', async () => {
    const response = await post('/pipeline', [['SET', 'a', 1], ['KEYS', '*'], ['GET', 'a'], ['MULTI']])
    expect(await response.json()).toEqual([
      { result: 'OK' },
      { error: "NOPERM 'KEYS' is not allowed by this gateway" },
      { result: '1' },
      { error: "NOPERM 'MULTI' cannot be used over HTTP; use the path /multi-exec" },
    ])
    expect(await (await post('/pipeline', [['KEYS', '*']])).json()).toEqual([{ error: expect.any(String) }])
  })

  test('in a transaction, one is enough to refuse all', async () => {
    await expectError(await post('/multi-exec', [['SET', 'a', 1], ['DISCARD'], ['GET', 'a']]), 400, /^EXECABORT /)
    expect(await gateway.server.command('EXISTS', 'a')).toBe(0)
  })

  test('in a transaction, none is carried out if Redis lets the gateway make no transactions', async () => {
    await using restricted = await startTestGateway()
    const { server, request } = restricted
    const transaction = async (value: number): Promise<{ status: number; body: unknown }> => {
      const body = JSON.stringify([
        ['SET', 'a', value],
        ['GET', 'a'],
      ])
      const response = await request('/multi-exec', { method: 'POST', body })
      return { status: response.status, body: await response.json() }
    }
    const refused = { status: 400, body: { error: expect.stringMatching(/NOPERM .*'(multi|exec)' command/) } }
    for (const missing of ['-multi', '-exec']) {
      await server.command('ACL', 'SETUSER', 'default', missing)
      expect(await transaction(1)).toEqual(refused)
      expect(await server.command('EXISTS', 'a')).toBe(0)
      await server.command('ACL', 'SETUSER', 'default', '+@all')
    }
    expect(await transaction(2)).toEqual({ status: 200, body: [{ result: 'OK' }, { result: '2' }] })
    await server.command('ACL', 'SETUSER', 'default', '-multi')
    // Redis refuses MULTI only once the commands are sent: they may have been carried out, and were.
    expect(await transaction(3)).toMatchObject({ status: 504 })
    expect(await server.command('GET', 'a')).toBe('3')
    expect(await transaction(4)).toEqual(refused)
    expect(await server.command('GET', 'a')).toBe('3')
  })

  test('others can be allowed, and the default ones left out', async () => {
    const call = async (commands: readonly string[], body: unknown): Promise<unknown> => {
      const app = createGateway({ redis: gateway.redis, tokens: [token], commands })
      const headers = { authorization: `Bearer ${token}` }
      return await (await app.request('/', { method: 'POST', headers, body: JSON.stringify(body) })).json()
    }
    expect(await call([...defaultCommands, 'keys'], ['KEYS', '*'])).toEqual({ result: [] })
    expect(await call(['CONFIG  get'], ['config', 'GET', 'maxmemory'])).toEqual({ result: ['maxmemory', '0'] })
    expect(await call(['CONFIG GET'], ['CONFIG', 'SET', 'maxmemory', 0])).toHaveProperty('error')
    expect(await call(['OBJECT'], ['OBJECT', 'ENCODING', 'a'])).toEqual({ result: null })
    expect(await call(['GET'], ['SET', 'a', 1])).toHaveProperty('error')
  })
})

describe('requests', () => {
  test.each([
    ['/', ''],
    ['/', '{'],
    ['/', '"GET"'],
    ['/', '{"0":"GET"}'],
    ['/', '[]'],
    ['/', '[[]]'],
    ['/', '[["GET","a"]]'],
    ['/', '[1,"a"]'],
    ['/', '["",1]'],
    ['/', '["GET",null]'],
    ['/', '["GET",["a"]]'],
    ['/', '["GET",{"a":1}]'],
    ['/', '["SET","a",01]'],
    ['/', '["SET","a",1.]'],
    ['/', '["SET","a",-]'],
    ['/', '["SET","a",NaN]'],
    ['/', '["SET","a","b"] 1'],
    ['/', '["SET","a","b",]'],
    ['/', '["SET" "a"]'],
    ['/', '["SET","\n"]'],
    ['/pipeline', '[]'],
    ['/pipeline', '["GET","a"]'],
    ['/pipeline', '[["GET","a"],[]]'],
    ['/multi-exec', '{}'],
    ['/multi-exec', '[["GET","a"],null]'],
  ])('that are malformed are refused: %s %s', async (path, body) => {
    await expectError(await post(path, body), 400, /^ERR /)
  })

  test('that nest deeper than commands do are refused by name, however deep', async () => {
    for (const [path, body] of [
      ['/', '["GET",["a"]]'],
      ['/', '[["GET","a"]]'],
      ['/pipeline', '[["GET",[["a"]]]]'],
      ['/multi-exec', '[[["GET"]]]'],
      ['/', '['.repeat(2_000)],
      ['/pipeline', `${'['.repeat(1_000)}${']'.repeat(1_000)}`],
    ] as const) {
      await expectError(await post(path, body), 400, /^ERR a command has no arrays in it/)
    }
    await expectError(await post('/', '["SET","a",{"b":1}]'), 400, /^ERR a command has no objects in it/)
  })

  test('that are not UTF-8 are refused, and what they held is not repeated', async () => {
    const body = Buffer.concat([Buffer.from('["SET","a","sesame'), Buffer.from([0xff]), Buffer.from('"]')])
    const response = await gateway.request('/', { method: 'POST', body })
    expect(response.status).toBe(400)
    expect(await response.text()).not.toContain('sesame')
    expect(await (await post('/', '["SET","a","sesame')).text()).not.toContain('sesame')
  })

  test('larger than the limit are refused, whether or not they say how large they are', async () => {
    const body = JSON.stringify(['SET', 'a', 'x'.repeat(2_000)])
    await expectError(await post('/', body), 413, /^ERR .*2000 bytes/)
    const { stream, taken } = endless()
    const init = { method: 'POST', body: stream, duplex: 'half' }
    await expectError(await gateway.request('/', init as RequestInit), 413, /^ERR /)
    expect(taken()).toBeLessThan(1_000)
    expect(await gateway.server.command('EXISTS', 'a')).toBe(0)
  })

  test('just within the limit are carried out, in pieces too', async () => {
    const body = JSON.stringify(['SET', 'a', 'x'.repeat(1_986)])
    expect(Buffer.byteLength(body)).toBe(2_000)
    expect(await (await post('/', body)).json()).toEqual({ result: 'OK' })
    const pieces = new Blob([body]).stream()
    const init = { method: 'POST', body: pieces, duplex: 'half' } as RequestInit
    expect(await (await gateway.request('/', init)).json()).toEqual({ result: 'OK' })
  })

  test('with too many commands are refused', async () => {
    const commands = Array.from({ length: 11 }, () => ['INCR', 'n'])
    await expectError(await post('/pipeline', commands), 400, /^ERR the body has more commands than the 10 /)
    await expectError(await post('/multi-exec', commands), 400, /^ERR the body has more commands than the 10 /)
    expect(await gateway.server.command('EXISTS', 'n')).toBe(0)
  })

  test('with another method are refused, and no other site may send any', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD']) {
      const response = await gateway.request('/subscribe/a', { method, headers: { origin: 'https://example.com' } })
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe('GET, POST')
      expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    }
    expect(await gateway.server.command('PUBSUB', 'CHANNELS')).toEqual([])
  })

  test('that nobody could have meant are refused, in the same form', async () => {
    await expectError(await gateway.request('/'), 400, /^ERR the path has no command/)
    await expectError(await gateway.request('//'), 400, /^ERR the path has no command/)
    await expectError(await gateway.request('/pipeline'), 400, /^NOPERM /)
  })

  test('at an address that is none are refused, in the same form', async () => {
    const { port } = new URL(gateway.url)
    const [response] = (await once(request({ port, path: '/get/a\\b' }).end(), 'response')) as [IncomingMessage]
    expect(response.statusCode).toBe(400)
    expect(response.headers['cache-control']).toBe('no-store')
    expect(String(await response.toArray())).toMatch(/^{"error":"ERR /)
  })

  test('whose client leaves in the middle leave nothing to do', async () => {
    const { port } = new URL(gateway.url)
    const command = '["SET","a","b"]'
    /** Starts sending the command: the gateway has seen the request, and waits for the rest of its body. */
    async function begin(): Promise<ClientRequest> {
      const headers = { authorization: `Bearer ${token}`, 'content-length': command.length, expect: '100-continue' }
      const half = request({ port, method: 'POST', headers }).on('error', () => undefined)
      await once(half, 'continue')
      half.write(command.slice(0, -1))
      return half
    }
    const exists = async (): Promise<unknown> => (await post('/', ['EXISTS', 'a'])).json()
    const [leaves, stays] = [await begin(), await begin()]
    leaves.destroy()
    expect(await exists()).toEqual({ result: 0 })
    stays.end(command.slice(-1))
    await once(stays, 'response')
    expect(await exists()).toEqual({ result: 1 })
  })
})

test('mounted in another app, it works below that path', async () => {
  const app = new Hono().route('/redis/:tenant', createGateway({ redis: gateway.redis, tokens: [token] }))
  const headers = { authorization: `Bearer ${token}` }
  const body = JSON.stringify(['SET', 'a', 'b'])
  expect(await (await app.request('/redis/one', { method: 'POST', headers, body })).json()).toEqual({ result: 'OK' })
  expect(await (await app.request('/redis/one/get/a', { headers })).json()).toEqual({ result: 'b' })
  expect((await app.request('/redis/one/get/a')).status).toBe(401)
  expect((await app.request('/redis/one/healthz')).status).toBe(200)
  const stream = await app.request('/redis/one/subscribe/a/b', { headers })
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('data: subscribe,a/b,1\n\n')
  await reader.cancel()
  await expect.poll(() => gateway.server.command('PUBSUB', 'CHANNELS')).toEqual([])
})

test('a mistake of its own tells the client nothing', async () => {
  const told: unknown[] = []
  const problem = new Error(`it failed at ${token}`)
  const redis = { ...gateway.redis, pipeline: () => Promise.reject(problem) }
  const app = createGateway({ redis, tokens: [token], onError: (error) => told.push(error) })
  const response = await app.request('/get/a', { headers: { authorization: `Bearer ${token}` } })
  expect(response.status).toBe(500)
  expect(await response.json()).toEqual({ error: 'ERR the gateway failed' })
  expect(told).toEqual([problem])
})

function endless(): { stream: ReadableStream<Uint8Array>; taken: () => number } {
  let taken = 0
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      taken++
      controller.enqueue(new TextEncoder().encode('x'.repeat(1_000)))
      await new Promise((resolve) => setImmediate(resolve))
    },
  })
  return { stream, taken: () => taken }
}
