import { beforeEach, describe, expect, it } from 'vitest'
import { type MemorySetting, memorySetting, requestOf } from '../test/memory-setting.ts'
import { idempotent } from './idempotent.ts'
import type { IdempotentWork } from './work.ts'

let setting: MemorySetting
/** How often the work was done. */
let runs: number
const pay: IdempotentWork = async (request, { run }) => {
  runs++
  const body = await request.text()
  return Response.json({ paid: body, fence: run?.fence }, { status: 201, headers: { location: `/payments/${runs}` } })
}

beforeEach(() => {
  setting = memorySetting()
  runs = 0
})

const replayed = (response: Response): boolean => response.headers.get('idempotency-replayed') === 'true'
const bytesOf = async (response: Response): Promise<number[]> => [...new Uint8Array(await response.arrayBuffer())]

async function problemOf(response: Response): Promise<string> {
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  const body = (await response.json()) as { type: string; status: number; title: string; detail: string }
  expect(body).toMatchObject({ status: response.status, title: expect.any(String), detail: expect.any(String) })
  return `${body.status} ${body.type}`
}

describe('a request with a key', () => {
  it('runs the work once, and its retry gets the same answer, said to be a replay', async () => {
    const handle = setting.handle()
    const first = await setting.send(handle, pay)
    const second = await setting.send(handle, pay)
    expect([first.status, second.status, runs]).toEqual([201, 201, 1])
    expect([replayed(first), replayed(second)]).toEqual([false, true])
    expect(second.headers.get('location')).toBe('/payments/1')
    expect(await bytesOf(second)).toEqual(await bytesOf(first))
    expect(setting.asked).toEqual(['claim', 'complete', 'claim'])
    expect(setting.events).toEqual([])
  })

  it('of another scope, path, query or method is another request', async () => {
    const byTenant = setting.handle({
      scope: (request) => request.headers.get('tenant') ?? '',
      methods: ['POST', 'PUT'],
    })
    const [a, b] = [{ headers: { tenant: 'a' } }, { headers: { tenant: 'b' } }]
    await setting.send(byTenant, pay, a)
    expect(replayed(await setting.send(byTenant, pay, b))).toBe(false)
    expect(runs).toBe(2)
    for (const other of [
      { path: '/refunds' },
      { path: '/payments?dry=1' },
      { method: 'PUT' },
      { body: '{"amount":200}' },
    ]) {
      expect(await problemOf(await setting.send(byTenant, pay, { ...a, ...other }))).toBe('422 /problems/key-reused')
    }
    expect(replayed(await setting.send(byTenant, pay, a))).toBe(true)
    expect(runs).toBe(2)
  })

  it('may have a run of another scope within its own, but none of the same, for which it would wait without end', async () => {
    const [outer, inner] = [setting.handle(), setting.handle({ scope: 'steps' })]
    const nested = await setting.send(outer, (request) => inner(request, pay))
    expect([nested.status, runs]).toEqual([201, 1])
    const deeper = setting.send(outer, (request) => inner(request, (again) => outer(again, pay)), { key: 'deeper' })
    expect([await problemOf(await deeper), runs]).toEqual(['500 /problems/misconfigured', 1])
    expect(setting.events).toMatchObject([
      { type: 'misconfigured', cause: { message: expect.stringContaining('has this key') } },
    ])
  })

  it('is refused with another body while the first still runs, and a repeat of the first is told to come back', async () => {
    const handle = setting.handle()
    const first = await setting.begin(handle)
    const other = await setting.send(handle, pay, { body: '{"amount":200}' })
    expect(await problemOf(other)).toBe('422 /problems/key-reused')
    const same = await setting.send(handle, pay)
    expect([await problemOf(same), same.headers.get('retry-after')]).toEqual(['409 /problems/in-progress', '5'])
    first.answer(new Response('done'))
    expect((await setting.settled(first.answered)).status).toBe(200)
    expect(runs).toBe(0)
  })

  it('waits for the first if it may, and gets its answer as soon as that is recorded', async () => {
    const handle = setting.handle({ wait: '10s' })
    const first = await setting.begin(handle)
    const waiting = Array.from({ length: 10 }, () => handle(requestOf(), pay))
    await expect.poll(() => setting.lockerEvents.filter(({ type }) => type === 'contended')).toHaveLength(10)
    await setting.clock.advance(2_000)
    const at = setting.clock.monotonicMs()
    first.answer(new Response('done'))
    const answers = await setting.settled(Promise.all(waiting))
    expect(await Promise.all(answers.map((each) => each.text()))).toEqual(Array(10).fill('done'))
    expect(answers.every(replayed)).toBe(true)
    // In workerd there are no wake-ups, so they check about once a second.
    expect(setting.clock.monotonicMs() - at).toBeLessThan(3_000)
    await first.answered
  })

  it('that has waited long enough is told to come back', async () => {
    const handle = setting.handle({ wait: '3s' })
    await setting.begin(handle)
    const at = setting.clock.monotonicMs()
    expect(await problemOf(await setting.send(handle, pay))).toBe('409 /problems/in-progress')
    expect(setting.clock.monotonicMs() - at).toBeGreaterThanOrEqual(3_000)
  })

  it('ends with its client while it waits, and leaves nothing behind', async () => {
    const handle = setting.handle({ wait: '1h' })
    await setting.begin(handle)
    const client = new AbortController()
    const waiting = handle(requestOf({ signal: client.signal }), pay)
    await expect.poll(() => setting.lockerEvents.map(({ type }) => type)).toContain('contended')
    client.abort(new Error('left'))
    await expect(setting.settled(waiting)).rejects.toThrow('left')
    expect(runs).toBe(0)
  })

  it('runs on when its client leaves, whatever signal the work has, and is recorded', async () => {
    const handle = setting.handle()
    const client = new AbortController()
    const left = await setting.begin(handle, { signal: client.signal })
    client.abort()
    await setting.clock.advance(10)
    expect([left.request.signal.aborted, left.run.signal.aborted]).toEqual([false, false])
    left.answer(new Response('done'))
    await setting.settled(left.answered)
    expect(replayed(await setting.send(handle, pay))).toBe(true)
  })
})

describe('a request that passes through', () => {
  it.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])(
    'because it is a %s keeps its request and response',
    async (method) => {
      const handle = setting.handle()
      const answer = new Response('read')
      const request = requestOf({ method })
      const given: unknown[] = []
      expect(
        await handle(request, (...all) => {
          given.push(...all)
          return answer
        }),
      ).toBe(answer)
      expect(given).toEqual([request, { run: undefined, key: undefined }])
      expect(setting.asked).toEqual([])
    },
  )

  it('does not because its method is in lower case', async () => {
    await setting.send(setting.handle(), pay, { method: 'patch' })
    expect(setting.asked).toEqual(['claim', 'complete'])
  })

  it('because it has no key and needs none runs each time', async () => {
    const handle = setting.handle({ required: false })
    for (let i = 0; i < 2; i++) await setting.send(handle, pay, { key: null })
    expect([runs, setting.asked]).toEqual([2, []])
  })
})

describe('before the store is asked', () => {
  it.each([
    ['no key', { key: null }, '400 /problems/key-missing'],
    ['an empty key', { key: '' }, '400 /problems/key-invalid'],
    ['an empty string', { key: '""' }, '400 /problems/key-invalid'],
    ['two lines', { key: 'a, b' }, '400 /problems/key-invalid'],
    ['two lines in one string', { key: '"a, b"' }, '400 /problems/key-invalid'],
    ['parameters', { key: '"a";b=1' }, '400 /problems/key-invalid'],
    ['an open quote', { key: '"a' }, '400 /problems/key-invalid'],
    ['a space', { key: 'a b' }, '400 /problems/key-invalid'],
    ['a control character', { key: 'a\u0001b' }, '400 /problems/key-invalid'],
    ['a letter beyond ASCII', { key: 'é' }, '400 /problems/key-invalid'],
    ['256 characters', { key: 'a'.repeat(256) }, '400 /problems/key-invalid'],
    ['100,000 characters', { key: '"'.repeat(100_000) }, '400 /problems/key-invalid'],
    ['a large body', { body: 'a'.repeat(1_001) }, '413 /problems/body-too-large'],
  ])('a request with %s is refused', async (_, sent, answer) => {
    const handle = setting.handle({ largestBody: 1_000 })
    expect(await problemOf(await setting.send(handle, pay, sent))).toBe(answer)
    expect([runs, setting.asked]).toEqual([0, []])
  })

  it.each([
    ['empty', () => ''],
    ['missing', () => undefined as never],
    ['no text', () => '\ud800'],
  ])('a scope that is %s is a mistake of ours, and shared by nobody', async (_, scope) => {
    expect(await problemOf(await setting.send(setting.handle({ scope }), pay))).toBe('500 /problems/misconfigured')
    expect(setting.events).toMatchObject([
      { type: 'misconfigured', cause: { code: 'INVALID_OPTION', option: 'scope' } },
    ])
    expect([runs, setting.asked]).toEqual([0, []])
  })

  it('gives the scope what a framework has in place of the request', async () => {
    const handle = idempotent<{ readonly user: string }>({ locks: setting.locks, scope: ({ user }) => user })
    const send = (user: string) => handle(requestOf(), pay, { asked: { user } })
    const answers = [await send('ada'), await send('bob'), await send('ada')]
    expect(answers.map(replayed)).toEqual([false, false, true])
  })

  it('what the scope throws goes to the caller, such as a 401', async () => {
    const scope = (): string => {
      throw new Error('who are you?')
    }
    await expect(setting.send(setting.handle({ scope }), pay)).rejects.toThrow('who are you?')
  })

  it('a body that was read before, or is being read, is told of', async () => {
    const [read, taken] = [requestOf(), requestOf()]
    await read.text()
    taken.body?.getReader()
    for (const request of [read, taken]) {
      const response = await setting.settled(setting.handle()(request, pay))
      expect(await problemOf(response)).toBe('500 /problems/misconfigured')
    }
  })

  it('a body that breaks off, or is not made of bytes, is a bad request', async () => {
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('cut')) })
    const text = new ReadableStream({ start: (controller) => controller.enqueue('text') })
    for (const body of [broken, text]) {
      const response = await setting.send(setting.handle(), pay, { body })
      expect(await problemOf(response)).toBe('400 /problems/body-broken')
    }
    expect([runs, setting.asked]).toEqual([0, []])
  })

  it('a client that leaves while it sends its body is told with its own reason', async () => {
    const left = new AbortController()
    const silent = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(10)) })
    const sending = setting.send(setting.handle(), pay, { body: silent, signal: left.signal })
    left.abort('left')
    await expect(sending).rejects.toBe('left')
  })

  it('a body that never ends has a deadline, and is read no further than the limit', async () => {
    const handle = setting.handle({ bodyWithin: '5s', largestBody: 1_000 })
    const silent = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(10)) })
    expect(await problemOf(await setting.send(handle, pay, { body: silent }))).toBe('408 /problems/body-too-slow')
    let pulled = 0
    let cancelled = false
    const endless = new ReadableStream({
      pull(controller) {
        pulled++
        controller.enqueue(new Uint8Array(100))
      },
      cancel() {
        cancelled = true
      },
    })
    expect(await problemOf(await setting.send(handle, pay, { body: endless }))).toBe('413 /problems/body-too-large')
    expect([pulled < 20, cancelled]).toEqual([true, true])
    const client = new AbortController()
    const left = handle(requestOf({ body: new ReadableStream(), signal: client.signal }), pay)
    await setting.clock.advance(10)
    client.abort(new Error('left'))
    await expect(setting.settled(left)).rejects.toThrow('left')
    expect(setting.asked).toEqual([])
  })
})

describe('keys', () => {
  it('with quotes and without are one key, and an escaped character is itself', async () => {
    const handle = setting.handle()
    const keys: (string | undefined)[] = []
    const keep: IdempotentWork = (_, { key }) => {
      keys.push(key)
      return new Response()
    }
    await setting.send(handle, keep, { key: 'a\\b:{*}' })
    expect(replayed(await setting.send(handle, keep, { key: '"a\\\\b:{*}"' }))).toBe(true)
    await setting.send(handle, keep, { key: '"say \\"hi\\""'.replace(' ', '_') })
    await setting.send(handle, keep, { key: 'a'.repeat(255) })
    expect(keys).toEqual(['a\\b:{*}', 'say_"hi"', 'a'.repeat(255)])
  })
})

describe('what makes requests the same', () => {
  it('may be said by a function of request and body', async () => {
    const handle = setting.handle({ fingerprint: (request, body) => `${request.method} ${body.length}` })
    await setting.send(handle, pay, { body: 'abc' })
    expect(replayed(await setting.send(handle, pay, { body: 'xyz', path: '/elsewhere' }))).toBe(true)
    expect((await setting.send(handle, pay, { body: 'abcd' })).status).toBe(422)
  })

  it('the work reads the body as it came', async () => {
    const bytes = Uint8Array.of(0x00, 0xff, 0xfe, 0x80, 0x41)
    const echo: IdempotentWork = async (request) => new Response(await request.arrayBuffer())
    const sent = { body: bytes, headers: { 'content-type': 'application/octet-stream' } }
    const answers = [await setting.send(setting.handle(), echo, sent), await setting.send(setting.handle(), echo, sent)]
    expect(await Promise.all(answers.map(bytesOf))).toEqual([[...bytes], [...bytes]])
    expect(answers.map((each) => each.headers.get('content-type'))).toEqual([null, null])
  })

  it('a request without body has none for the work either', async () => {
    const echo: IdempotentWork = (request) => new Response(String(request.body))
    expect(await (await setting.send(setting.handle(), echo, { body: null })).text()).toBe('null')
  })
})
