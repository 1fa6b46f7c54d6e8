import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '../../test/gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ maxPipeline: 2_000 })
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(async () => {
  await gateway.server.command('FLUSHALL')
})

const text = 'naïve 🔑 "quoted" \\ \n\r\t\0\u2028 end\ufeff'

describe.each([
  ['base64', 'base64'],
  ['plain', false],
] as const)('the unmodified client, with %s replies', (_, responseEncoding) => {
  const client = () => gateway.client({ responseEncoding, automaticDeserialization: false })

  test('gets back the text it has set', async () => {
    expect(await client().set('key', text)).toBe('OK')
    expect(await client().get('key')).toBe(text)
    expect(await gateway.server.command('GET', 'key')).toBe(text)
  })

  test('tells an OK that is a status from one that is data, an empty string and null', async () => {
    await client().mset({ ok: 'OK', empty: '' })
    expect(await client().get('ok')).toBe('OK')
    expect(await client().mget('ok', 'empty', 'none')).toEqual(['OK', '', null])
  })

  test('gets integers as numbers, and numbers that are strings as strings', async () => {
    expect(await client().incrby('n', 41)).toBe(41)
    expect(await client().incrby('n', -42)).toBe(-1)
    expect(await client().get('n')).toBe('-1')
    expect(await client().incrbyfloat('f', 1.5)).toBe('1.5')
  })

  test('sends numbers and booleans as their text', async () => {
    await client().set('number', 1e21)
    await client().set('small', 1e-7)
    await client().set('tenth', 0.1)
    await client().set('largest', Number.MAX_SAFE_INTEGER)
    await client().set('boolean', true)
    expect(await gateway.server.command('MGET', 'number', 'small', 'tenth', 'largest', 'boolean')).toEqual([
      '1e+21',
      '1e-7',
      '0.1',
      '9007199254740991',
      'true',
    ])
  })

  test('gets arrays inside arrays, with nil, numbers, text and errors in them', async () => {
    const script = `return { 1, 'OK', false, { 2, 'OK', false, { KEYS[1], ARGV[1] } }, redis.error_reply('MY problem') }`
    expect(await client().eval(script, ['k'], [text])).toEqual([
      1,
      'OK',
      null,
      [2, 'OK', null, ['k', text]],
      { error: 'MY problem' },
    ])
  })

  test('runs a script by its hash once it is loaded, and is told NOSCRIPT before', async () => {
    const script = `return { KEYS[1], ARGV[1], ${Math.floor(Number(process.hrtime.bigint() % 1_000_000n))} }`
    const sha = createHash('sha1').update(script).digest('hex')
    await expect(client().evalsha(sha, ['k'], ['a'])).rejects.toMatchObject({
      name: 'UpstashError',
      message: expect.stringMatching(/^NOSCRIPT No matching script/),
    })
    expect(await client().scriptExists(sha)).toEqual([0])
    expect(await client().scriptLoad(script)).toBe(sha)
    expect(await client().scriptExists(sha)).toEqual([1])
    expect(await client().evalsha(sha, ['k'], ['a'])).toEqual(['k', 'a', expect.any(Number)])
  })

  test('gets one result or error for each command of a pipeline', async () => {
    const pipeline = client().pipeline()
    pipeline.set('a', text).get('a').lpush('a', 'x').evalsha('f'.repeat(40), [], []).exists('a')
    expect(await pipeline.exec({ keepErrors: true })).toEqual([
      { result: 'OK', error: undefined },
      { result: text, error: undefined },
      { result: undefined, error: expect.stringMatching(/^WRONGTYPE/) },
      { result: undefined, error: expect.stringMatching(/^NOSCRIPT/) },
      { result: 1, error: undefined },
    ])
  })

  test('gets the results of a transaction, errors of single commands among them', async () => {
    const all = client().multi().set('a', 'x').incr('a').get('a')
    expect(await all.exec({ keepErrors: true })).toEqual([
      { result: 'OK', error: undefined },
      { result: undefined, error: expect.stringMatching(/^ERR value is not an integer/) },
      { result: 'x', error: undefined },
    ])
  })
})

describe('the client', () => {
  test('parses what it knows to be JSON, by its own defaults', async () => {
    const client = gateway.client()
    await client.hset('hash', { object: { a: [1] }, text: 'x' })
    expect(await client.hgetall('hash')).toEqual({ object: { a: [1] }, text: 'x' })
    await client.zadd('z', { score: 1.5, member: 'm' })
    expect(await client.zrange('z', 0, -1, { withScores: true })).toEqual(['m', 1.5])
    expect(await client.scan(0)).toEqual(['0', expect.arrayContaining(['hash', 'z'])])
  })

  test('may gather commands into pipelines by itself', async () => {
    const client = gateway.client({ enableAutoPipelining: true })
    const values = Array.from({ length: 100 }, (_, index) => index)
    await Promise.all(values.map((value) => client.set(`k${value}`, value)))
    expect(await Promise.all(values.map((value) => client.get(`k${value}`)))).toEqual(values)
  })

  test('is told that a transaction was discarded, and why; nothing of it was done', async () => {
    const discarded = gateway.client().multi().set('a', 1).getset('a', 2)
    // As the client would send it if its user had omitted an argument.
    const body = [
      ['SET', 'a', 1],
      ['GETSET', 'a'],
    ]
    const response = await gateway.request('/multi-exec', { method: 'POST', body: JSON.stringify(body) })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: expect.stringMatching(/^EXECABORT .*\(ERR wrong number of arguments for 'getset' command\)$/),
    })
    expect(await gateway.server.command('EXISTS', 'a')).toBe(0)
    expect(await discarded.exec()).toEqual(['OK', 1])
  })

  test('sees nothing of others between the commands of its transaction', async () => {
    const client = gateway.client()
    const transactions = Array.from({ length: 40 }, () => client.multi().incr('n').incr('n').incr('n').exec<number[]>())
    const others = Array.from({ length: 40 }, () => client.incr('n'))
    const results = await Promise.all(transactions)
    await Promise.all(others)
    for (const [first = 0, second, third] of results) expect([second, third]).toEqual([first + 1, first + 2])
  })

  test('sends a pipeline as long as the limit, and bodies near theirs', async () => {
    const pipeline = gateway.client().pipeline()
    for (let index = 0; index < 2_000; index++) pipeline.incr('n')
    expect((await pipeline.exec<number[]>()).at(-1)).toBe(2_000)
    const value = 'x'.repeat(1_000_000)
    await gateway.client().set('large', value)
    expect(await gateway.client().get('large')).toBe(value)
  })
})

describe('the sync token', () => {
  /** The token that the client keeps and sends, by its own defaults. */
  const tokenOf = (client: object): unknown =>
    (client as { readonly client: { readonly upstashSyncToken: string } }).client.upstashSyncToken

  test('changes with each write, in every form, and the client sends it back', async () => {
    const client = gateway.client()
    const seen = [tokenOf(client)]
    const writes = [
      () => client.set('a', 1),
      () => client.incr('a'),
      () => client.eval(`return redis.call('SET', KEYS[1], '2')`, ['a'], []),
      () => client.pipeline().set('a', 3).set('b', 4).exec(),
      () => client.multi().set('a', 5).exec(),
    ]
    for (const write of writes) {
      await write()
      seen.push(tokenOf(client))
    }
    expect(new Set(seen).size).toBe(1 + writes.length)
    expect(await client.get('a')).toBe(5)
  })

  test('changes with a write that Redis refused, which a script may have begun', async () => {
    const answers = [await gateway.request('/set/a/1'), await gateway.request('/hset/a/b/c')]
    const tokens = answers.map(({ headers }) => headers.get('upstash-sync-token'))
    expect(answers.map(({ status }) => status)).toEqual([200, 400])
    expect(tokens[1]).not.toBe(tokens[0])
  })

  test('is another in another run of the gateway, and of two at once', async () => {
    await using restarted = await startTestGateway()
    const tokenAfter = async (path: string, at = gateway): Promise<string | null> =>
      (await at.request(path)).headers.get('upstash-sync-token')
    const tokens = await Promise.all([
      tokenAfter('/set/a/1', restarted),
      ...Array.from({ length: 20 }, (_, index) => tokenAfter(`/set/a/${index}`)),
    ])
    expect(new Set(tokens).size).toBe(21)
    expect(new Set(tokens.map((each) => each?.split('-')[0])).size).toBe(2)
  })
})

describe('what the client does not show', () => {
  const bytes = Buffer.from(Array.from({ length: 512 }, (_, index) => index % 256))

  test('is binary: bytes come back as they are in base64, and as U+FFFD without', async () => {
    const put = await gateway.request('/set/bin', { method: 'POST', body: bytes })
    expect(await put.json()).toEqual({ result: 'OK' })
    const encoded = await gateway.request('/get/bin', { headers: { 'Upstash-Encoding': 'base64' } })
    const { result } = (await encoded.json()) as { result: string }
    expect(Buffer.from(result, 'base64').equals(bytes)).toBe(true)
    expect(await (await gateway.request('/get/bin')).json()).toEqual({ result: bytes.toString() })
  })

  test('integers keep all their digits', async () => {
    await gateway.server.command('SET', 'n', '9223372036854775806')
    expect(await (await gateway.request('/incr/n')).text()).toBe('{"result":9223372036854775807}')
    expect(await (await gateway.request('/incr/n')).json()).toEqual({
      error: 'ERR increment or decrement would overflow',
    })
  })

  test('numbers are passed on as they were written, none rounded', async () => {
    const body = '["RPUSH", "numbers", 9007199254740993, 12345678901234567890, 1.0, 1e400, -0, 0.10, 1E-7]'
    expect(await (await gateway.request('/', { method: 'POST', body })).json()).toEqual({ result: 7 })
    const numbers = ['9007199254740993', '12345678901234567890', '1.0', '1e400', '-0', '0.10', '1E-7']
    expect(await gateway.server.command('LRANGE', 'numbers', 0, -1)).toEqual(numbers)
    const transaction = '[["INCRBY", "n", 9007199254740993], ["INCRBY", "n", -1]]'
    const response = await gateway.request('/multi-exec', { method: 'POST', body: transaction })
    expect(await response.text()).toBe('[{"result":9007199254740993},{"result":9007199254740992}]')
  })

  test('the path form: arguments, options in the query, and an encoded slash', async () => {
    expect(await (await gateway.request('/set/a%2Fb/c%20d?PX=60000&NX')).json()).toEqual({ result: 'OK' })
    expect(await (await gateway.request('/GET/a%2Fb')).json()).toEqual({ result: 'c d' })
    expect(await (await gateway.request('/set/a%2Fb/x?PX=60000&NX=')).json()).toEqual({ result: null })
    expect(await gateway.server.command('PTTL', 'a/b')).toBeGreaterThan(50_000)
    const body = await gateway.request('/set/j?EX=100', { method: 'POST', body: '{"a": 1}' })
    expect(await body.json()).toEqual({ result: 'OK' })
    expect(await gateway.client({ automaticDeserialization: false }).get('j')).toBe('{"a": 1}')
  })

  test('no answer may be stored, and each has a sync token', async () => {
    const answers = [
      await gateway.request('/get/a'),
      await gateway.request('/keys/*'),
      await gateway.request('/healthz'),
      await gateway.request('/subscribe/'),
      await fetch(gateway.url),
    ]
    for (const { headers } of answers) {
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('content-type')).toBe('application/json')
      expect(headers.get('upstash-sync-token')).toMatch(/^[\w-]+$/)
    }
  })
})

describe('a reply that is too much to pass on', () => {
  const maxReplyBytes = 65_536
  let small: TestGateway
  beforeAll(async () => {
    small = await startTestGateway({ maxReplyBytes })
    await small.server.command('SET', 'fits', 'x'.repeat(maxReplyBytes - 16))
    await small.server.command('SET', 'large', 'x'.repeat(maxReplyBytes - 15))
    await small.server.command('EVAL', `for i = 1, 4097 do redis.call('RPUSH', 'many', '') end`, 0)
  })
  afterAll(() => small[Symbol.asyncDispose]())

  const tooLarge = 'TOOLARGE the reply makes more than 65536 bytes; the command was carried out'
  const send = (path: string, body: unknown): Promise<Response> =>
    small.request(path, { method: 'POST', body: JSON.stringify(body) })

  test('is answered by an error that says so, for its size or for the number of its elements', async () => {
    expect(await (await small.request('/get/fits')).json()).toEqual({ result: 'x'.repeat(maxReplyBytes - 16) })
    for (const path of ['/get/large', '/lrange/many/0/-1']) {
      const response = await small.request(path, { headers: { 'upstash-encoding': 'base64' } })
      expect(response.status).toBe(400)
      expect(await response.json()).toEqual({ error: tooLarge })
    }
    expect((await small.request('/lrange/many/0/4000')).status).toBe(200)
  })

  test('counts with the others of its pipeline or transaction, and only it is left out', async () => {
    for (const path of ['/pipeline', '/multi-exec']) {
      const commands = [
        ['GET', 'large'],
        ['SET', 'a', path],
        ['GET', 'fits'],
        ['GET', 'a'],
      ]
      expect(await (await send(path, commands)).json()).toEqual([
        { error: tooLarge },
        { result: 'OK' },
        { error: tooLarge },
        { result: path },
      ])
    }
  })

  test('for its depth is answered by an error, however deep', async () => {
    const nested = async (depth: number): Promise<unknown> => {
      const script = `local t = {} for _ = 2, ${depth} do t = { t } end return t`
      return (await gateway.request('/', { method: 'POST', body: JSON.stringify(['EVAL', script, 0]) })).json()
    }
    expect(await nested(100)).toHaveProperty('result')
    for (const depth of [101, 300]) {
      expect(await nested(depth)).toEqual({
        error: 'TOODEEP the reply nests deeper than 100 arrays; the command was carried out',
      })
    }
  })
})
