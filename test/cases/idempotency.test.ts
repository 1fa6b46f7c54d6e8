import { fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { IdempotencyEvent, IdempotentOptions, IdempotentWork } from '@leasehold/idempotency'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { adapted, frameworks, hono, type ServedHandler } from '../support/frameworks.ts'
import { elapse, ms } from '../support/scale.ts'
import { scriptCalls, type Way, ways } from '../support/ways.ts'

/*
 * T-50 to T-56, and what our own example of an idempotent payment got wrong before there was a package for it: over a
 * real server, to a real Redis, in both ways, and through the adapters of other frameworks.
 */

interface Sent {
  readonly key?: string | null
  readonly body?: string
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

const replayed = ({ headers }: Response): boolean => headers.get('idempotency-replayed') === 'true'
const typeOf = async (response: Response): Promise<string> => ((await response.json()) as { type: string }).type
const bytesOf = async (response: Response): Promise<Uint8Array> => new Uint8Array(await response.arrayBuffer())
const never = (): Response => {
  throw new Error('It must not run')
}

const [directly, openDirectly] = ways[0] as (typeof ways)[number]
const settings = [
  ...ways.map(([name, open]) => [name, open, hono] as const),
  ...adapted.map((framework) => [`${directly}, in ${framework.name}`, openDirectly, framework] as const),
]

describe.each(settings)('%s', (settingName, open, framework) => {
  let way: Way
  let events: IdempotencyEvent[]
  const ends: (() => unknown)[] = []
  beforeAll(async () => {
    way = await open(redis)
  })
  afterAll(async () => {
    for (const end of ends.reverse()) await end()
    await way[Symbol.asyncDispose]()
  })

  /** A server with one handler, and functions that send it requests. Keys belong to this test alone. */
  async function serve(name: string, work: IdempotentWork, options: Partial<IdempotentOptions> = {}) {
    events = []
    const listener = (event: IdempotencyEvent): number => events.push(event)
    const all = { locks: way.locks, scope: `${settingName}/${name}`, onEvent: listener, ...options }
    const server = await framework.serve(all, work)
    ends.push(() => server.close())
    const send = ({ key = 'k', body = '{"amount":100}', path = '/payments', method = 'POST', headers }: Sent = {}) =>
      fetch(`${server.url}${path}`, {
        method,
        redirect: 'manual',
        headers: { 'content-type': 'application/json', ...(key !== null && { 'idempotency-key': key }), ...headers },
        ...(method === 'POST' && { body }),
      })
    return { send, server }
  }

  it('T-50: of thirty simultaneous requests one runs, and the others are told so, or wait for its answer', async () => {
    for (const wait of [0, ms(20_000, 10_000)]) {
      let runs = 0
      // Without a wait, the first runs until all others have their answers, however long a slow machine takes to send
      // them.
      const told = Promise.withResolvers<void>()
      const slow: IdempotentWork = async () => {
        runs++
        await (wait ? elapse(ms(1_000)) : told.promise)
        return Response.json({ runs }, { status: 201 })
      }
      const { send } = await serve(`T-50 ${wait}`, slow, { wait })
      let answered = 0
      const answers = await Promise.all(
        Array.from({ length: 30 }, async () => {
          const answer = await send()
          if (++answered === 29) told.resolve()
          return answer
        }),
      )
      const counts = [201, 409].map((status) => answers.filter((each) => each.status === status).length)
      expect([runs, counts]).toEqual([1, wait ? [30, 0] : [1, 29]])
      const last = await send()
      expect([last.status, replayed(last), await last.json()]).toEqual([201, true, { runs: 1 }])
    }
  })

  it('a request without contention takes two commands of the store, and a replay one', async () => {
    const { send } = await serve('commands', () => new Response('done'))
    await send({ key: 'warm' })
    await send({ key: 'warm' })
    const before = await scriptCalls(redis)
    await send({ key: 'counted' })
    expect((await scriptCalls(redis)) - before).toBe(2)
    await send({ key: 'counted' })
    expect((await scriptCalls(redis)) - before).toBe(3)
  })

  it('T-51: another body is refused while the first runs and after it, and the first is still replayed', async () => {
    let runs = 0
    const started = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    const { send } = await serve('T-51', async () => {
      runs++
      started.resolve()
      await go.promise
      return new Response('100', { status: 201 })
    })
    const other = { body: '{"amount":200}' }
    const first = send()
    await started.promise
    expect((await send(other)).status).toBe(422)
    go.resolve()
    expect((await first).status).toBe(201)
    const after = await send(other)
    expect([after.status, after.headers.get('content-type')]).toEqual([422, 'application/problem+json'])
    expect([await (await send()).text(), runs]).toEqual(['100', 1])
  })

  it('T-52: users who choose the same key have a run and an answer each, and those nobody knows share what you say', async () => {
    let runs = 0
    const scope = ({ headers }: Request): string =>
      headers.get('authorization') ?? /session=(\w+)/.exec(headers.get('cookie') ?? '')?.[1] ?? 'anonymous'
    const { send } = await serve('T-52', () => new Response(String(++runs)), {
      scope: (request) => `${settingName} ${scope(request)}`,
    })
    const users = [
      { authorization: 'Bearer u' },
      { authorization: 'Bearer v' },
      { cookie: 'session=u' },
      { cookie: 'session=v' },
      {},
    ]
    for (const round of [1, 2]) {
      const answers = await Promise.all(users.map(async (headers) => (await send({ headers })).text()))
      expect([...answers].sort()).toEqual(['1', '2', '3', '4', '5'])
      expect(runs, `round ${round}`).toBe(5)
    }
  })

  it('T-53: failures of the moment are not kept, by status and by default; validation before the work is not, either', async () => {
    for (const status of [503, 500, 429, 409]) {
      const answers = [status, 201]
      const { send } = await serve(`T-53 ${status}`, () => new Response('', { status: answers.shift() ?? 200 }))
      expect([(await send()).status, (await send()).status, (await send()).status]).toEqual([status, 201, 201])
    }
    const kept = await serve('T-53 400', () => new Response('bad', { status: 400 }))
    expect([(await kept.send()).status, replayed(await kept.send())]).toEqual([400, true])
    const pinned = await serve('T-53 pinned', () => new Response('', { status: 503 }), { endings: { 503: 'complete' } })
    expect([(await pinned.send()).status, replayed(await pinned.send())]).toEqual([503, true])
    const thrown = await serve('T-53 thrown', () => Promise.reject(new Error('cut')))
    expect([(await thrown.send()).status, await typeOf(await thrown.send())]).toEqual([500, '/problems/in-doubt'])
    const invalid = await serve('T-53 invalid', () => new Response('ok'))
    expect([(await invalid.send({ key: 'a b' })).status, (await invalid.send()).status]).toEqual([400, 200])
  })

  it('T-54: each kind of answer ends the reservation: a stream, a redirect, an empty 204, a file', async () => {
    const kinds: Readonly<Record<string, () => Response>> = {
      stream: () => new Response(new Blob(['one ', 'two']).stream(), { status: 200 }),
      redirect: () => new Response(null, { status: 303, headers: { location: '/done' } }),
      empty: () => new Response(null, { status: 204 }),
      file: () => new Response(new Blob(['a'.repeat(100_000)], { type: 'text/csv' })),
    }
    for (const [kind, made] of Object.entries(kinds)) {
      const runs = [made]
      const { send } = await serve(`T-54 ${kind}`, () => (runs.shift() ?? never)())
      const [first, second] = [await send(), await send()]
      expect([second.status, replayed(second), second.headers.get('location')]).toEqual([
        first.status,
        true,
        first.headers.get('location'),
      ])
      expect(await second.text()).toBe(await first.text())
    }
  })

  it('T-54: a handler that throws or times out ends the reservation: the retry is told in doubt, or runs, as you say', async () => {
    await using silent = await silentServer()
    const kinds: Readonly<Record<string, () => Promise<Response>>> = {
      throws: () => Promise.reject(new Error('cut')),
      'times out': () => fetch(silent.url, { signal: AbortSignal.timeout(100) }),
    }
    for (const [kind, cut] of Object.entries(kinds)) {
      for (const inDoubt of ['reject', 'rerun'] as const) {
        const runs = [cut]
        const again = (): Response => new Response('again', { status: 201 })
        const { send } = await serve(`T-54 ${kind} ${inDoubt}`, () => (runs.shift() ?? again)(), { inDoubt })
        const [first, second] = [await send(), await send()]
        const told = inDoubt === 'rerun' ? [500, 201] : [500, 409]
        expect([kind, inDoubt, first.status, second.status]).toEqual([kind, inDoubt, ...told])
        if (inDoubt === 'reject') expect(await typeOf(second)).toBe('/problems/in-doubt')
        else expect(replayed(await send())).toBe(true)
      }
    }
    // One that answers for what timed out says that it is safe to try again.
    const answers = [504, 201]
    const { send } = await serve('T-54 gateway', async () => {
      await kinds['times out']?.().catch(() => undefined)
      return new Response('', { status: answers.shift() ?? 200 })
    })
    expect([(await send()).status, (await send()).status, replayed(await send())]).toEqual([504, 201, true])
  })

  it('T-55: a replay has the bytes and headers of the first answer, and says what it is, to other origins, too', async () => {
    const made = {
      location: '/payments/7',
      etag: '"7"',
      'content-type': 'text/plain; charset=utf-8',
      'x-receipt': 'R-7',
      'set-cookie': 'session=u',
    }
    const { send } = await serve('T-55', () => new Response('Grüße €', { status: 201, headers: made }), {
      headers: ['x-receipt'],
    })
    const headers = { origin: 'https://app.example' }
    const [first, second] = [await send({ headers }), await send({ headers })]
    for (const name of ['location', 'etag', 'content-type', 'x-receipt']) {
      expect(second.headers.get(name)).toBe(first.headers.get(name))
    }
    expect(await bytesOf(second)).toEqual(await bytesOf(first))
    expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
    expect(second.headers.get('access-control-expose-headers')).toBe('Idempotency-Replayed')
    expect([first.headers.has('set-cookie'), second.headers.has('set-cookie')]).toEqual([true, false])
  })

  it('T-56: bad keys are refused before the store is asked, and odd ones touch no other record', async () => {
    let runs = 0
    const { send, server } = await serve('T-56', () => new Response(String(++runs)))
    const before = await scriptCalls(redis)
    for (const key of [null, '', '""', 'a'.repeat(300), 'a, b', 'a b']) {
      const refused = await send({ key })
      expect([refused.status, refused.headers.get('content-type')]).toEqual([400, 'application/problem+json'])
    }
    expect(await raw(server, ['Idempotency-Key: a', 'Idempotency-Key: a'])).toMatch(/^HTTP\/1.1 400 /)
    expect(await raw(server, ['Idempotency-Key: a\0b'])).toMatch(/^HTTP\/1.1 400 /)
    // Node itself refuses a header that long.
    expect(await raw(server, [`Idempotency-Key: ${'a'.repeat(100_000)}`])).toMatch(/^HTTP\/1.1 4(00|31) /)
    expect([runs, (await scriptCalls(redis)) - before]).toEqual([0, 0])
    const odd = ['*', 'k:{1}', '?', '[a-z]*', 'a\\b', '%2A', '}', '{', '#']
    const answers = await Promise.all(odd.map(async (key) => (await send({ key })).text()))
    expect(new Set(answers).size).toBe(odd.length)
    const quoted = await send({ key: '"a\\\\b"' })
    expect([replayed(quoted), await quoted.text()]).toEqual([true, answers[odd.indexOf('a\\b')]])
    expect([(await send({ method: 'GET' })).status, replayed(await send({ method: 'GET' }))]).toEqual([200, false])
  })

  describe('what the example got wrong', () => {
    it('a run that lost its lease and ends late is told, whoever writes first, and one key has one answer', async () => {
      let runs = 0
      const started = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
      const go = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const { send } = await serve(
        'late',
        async (_, { run }) => {
          const mine = runs++
          started[mine]?.resolve(run?.key ?? '')
          await go[mine]?.promise
          return new Response(`answer ${mine + 1}`)
        },
        { inDoubt: 'rerun' },
      )
      const first = send()
      await redis.command('DEL', `lock:${await started[0]?.promise}`)
      const second = send()
      await started[1]?.promise
      // The first ends before the second has written anything.
      go[0]?.resolve()
      expect([(await first).status, await typeOf(await first)]).toEqual([409, '/problems/overtaken'])
      go[1]?.resolve()
      expect(await (await second).text()).toBe('answer 2')
      expect(await (await send()).text()).toBe('answer 2')
      expect(events.map(({ type }) => type)).toEqual(['in-doubt', 'overtaken'])
    })

    it('an answer above the limit is given once, in full, and the work is not done again', async () => {
      let runs = 0
      const large = new Uint8Array(1_200_000).fill(66)
      const { send } = await serve('large', () => {
        runs++
        return new Response(large)
      })
      const answers = [await send(), await send(), await send()]
      expect([runs, answers.map(({ status }) => status)]).toEqual([1, [200, 410, 410]])
      expect(await bytesOf(answers[0] as Response)).toEqual(large)
      expect(await typeOf(answers[1] as Response)).toBe('/problems/result-not-kept')
    })

    it('bytes come back as bytes, with the content type that they had', async () => {
      const bytes = Uint8Array.of(0x00, 0xff, 0xfe, 0x80, 0x41)
      const { send } = await serve('bytes', () => new Response(bytes, { headers: { 'content-type': 'image/png' } }))
      await send()
      const replay = await send()
      expect([replayed(replay), await bytesOf(replay), replay.headers.get('content-type')]).toEqual([
        true,
        bytes,
        'image/png',
      ])
    })

    it('another query is another request', async () => {
      const { send } = await serve('query', () => new Response('paid'))
      await send()
      expect((await send({ path: '/payments?dry=1' })).status).toBe(422)
    })
  })
})

it('T-54: after a server was killed, its keys are told in doubt once the lease is over, or run again, as you say, in each framework', async () => {
  const ttl = ms(5_000, 1_500)
  const ends: (() => void)[] = []
  /** Starts the servers of all frameworks in one process. Each call is made in each framework. */
  async function start(inDoubt: string) {
    const args = [redis.url, String(ttl), inDoubt]
    const child = fork(new URL('../support/payment-server.ts', import.meta.url), args)
    ends.push(() => child.kill('SIGKILL'))
    const [urls] = (await once(child, 'message')) as [readonly string[]]
    let paid = 0
    child.on('message', () => ++paid)
    const pay = () =>
      urls.map((url) => fetch(`${url}/hang`, { method: 'POST', headers: { 'idempotency-key': 'k' }, body: '{}' }))
    return { child, pay, paid: () => paid }
  }
  /** The same of each framework, with its name. */
  const ofEach = <T>(value: T) => frameworks.map(({ name }) => [name, value] as const)
  const answersOf = <T>(calls: readonly Promise<Response>[], read: (answer: Response) => T) =>
    Promise.all(calls.map(async (call, index) => [frameworks[index]?.name, await read(await call)] as const))
  try {
    // At once: on a busy machine, a process takes longer to start than the lease lasts.
    const [first, second, third] = await Promise.all([start('reject'), start('reject'), start('rerun')])
    const cut = Promise.all(first.pay().map((call) => call.catch(({ name }: Error) => name)))
    await expect.poll(first.paid, { timeout: 10_000 }).toBe(frameworks.length)
    const exited = once(first.child, 'exit')
    first.child.kill('SIGKILL')
    await exited
    expect(await cut).toEqual(frameworks.map(() => 'TypeError'))
    const soon = await answersOf(second.pay(), async (answer) => [
      answer.status,
      await typeOf(answer),
      Number(answer.headers.get('retry-after')),
    ])
    expect(soon).toEqual(ofEach([409, '/problems/in-progress', expect.closeTo(ttl / 1_000, -1)]))
    await elapse(ttl)
    expect(await answersOf(second.pay(), typeOf)).toEqual(ofEach('/problems/in-doubt'))
    const rerun = await answersOf(third.pay(), async (answer) => [answer.status, await answer.json()])
    expect(rerun).toEqual(ofEach([201, { count: 2 }]))
    expect(await answersOf(second.pay(), replayed)).toEqual(ofEach(true))
    // Only the record and the fence of each are left, and all expire.
    const names = (await redis.command('KEYS', '*tenant*')) as string[]
    const kinds = names.map((name) => name.replace(/.*:/, '')).toSorted()
    expect(kinds).toEqual([...frameworks.map(() => 'fence'), ...frameworks.map(() => 'record')])
    for (const name of names) expect(Number(await redis.command('PTTL', name))).toBeGreaterThan(0)
  } finally {
    for (const end of ends) end()
  }
})

/** Accepts connections, and never answers. */
async function silentServer(): Promise<AsyncDisposable & { readonly url: string }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Sends a request with these lines as they are, and returns the first line of the response. */
function raw({ url }: ServedHandler, lines: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(['POST / HTTP/1.1', 'Host: a', 'Content-Length: 0', ...lines, '', ''].join('\r\n')),
    )
    socket.once('error', reject)
    socket.once('data', (data) => {
      resolve(data.toString().split('\r\n')[0] ?? '')
      socket.destroy()
    })
  })
}
