import { mostResultBytes } from '@leasehold/core/records'
import { beforeEach, describe, expect, it } from 'vitest'
import { type MemorySetting, memorySetting, requestOf } from '../test/memory-setting.ts'
import type { OngoingRun } from './index.ts'

let setting: MemorySetting
beforeEach(() => {
  setting = memorySetting()
})

const marks = (response: Response): (string | null)[] =>
  ['idempotency-replayed', 'idempotency-recorded'].map((name) => response.headers.get(name))
const typeOf = async (response: Response): Promise<string> => ((await response.json()) as { type: string }).type
const told = (): string[] => setting.events.map(({ type }) => type)
const never = (): Response => {
  throw new Error('It must not run')
}

describe('the endings', () => {
  it.each([200, 201, 202, 204, 205, 301, 303, 304, 400, 402, 404, 410, 422])('%i is recorded', async (status) => {
    const handle = setting.handle()
    const made = () => new Response(null, { status, headers: { location: '/a' } })
    expect((await setting.send(handle, made)).status).toBe(status)
    const replay = await setting.send(handle, never)
    expect([replay.status, replay.headers.get('location'), await replay.text(), marks(replay)]).toEqual([
      status,
      '/a',
      '',
      ['true', null],
    ])
  })

  it.each([401, 408, 409, 423, 425, 429, 500, 502, 503, 504])(
    '%i is not, and the next request runs',
    async (status) => {
      const handle = setting.handle()
      expect((await setting.send(handle, () => new Response('no', { status }))).status).toBe(status)
      const next = await setting.send(handle, () => new Response('yes', { status: 201 }))
      expect([next.status, marks(next)]).toEqual([201, [null, null]])
    },
  )

  it('may be said for a status, which wins over its class, and a class wins over the defaults', async () => {
    const handle = setting.handle({ endings: { '5xx': 'complete', 503: 'leave', '4xx': 'abandon', 429: 'complete' } })
    const after = async (status: number): Promise<string> => {
      const sent = { key: `k${status}` }
      await setting.send(handle, () => new Response('', { status }), sent)
      const next = await setting.send(handle, () => new Response('ran'), sent)
      return next.headers.has('idempotency-replayed') ? 'replayed' : next.ok ? 'ran' : await typeOf(next)
    }
    expect([await after(500), await after(503), await after(404), await after(429)]).toEqual([
      'replayed',
      '/problems/in-doubt',
      'ran',
      'replayed',
    ])
    const wholly = setting.handle({ endings: { '4xx': 'complete' } })
    await setting.send(wholly, () => new Response('', { status: 409 }))
    expect(marks(await setting.send(wholly, never))).toEqual(['true', null])
  })

  const failure = new Error('the card machine is on fire')
  const fail = (): Response => {
    throw failure
  }

  it('work that throws leaves its key in doubt: it may have had its effect', async () => {
    const handle = setting.handle()
    await expect(setting.send(handle, fail)).rejects.toBe(failure)
    expect(await typeOf(await setting.send(handle, never))).toBe('/problems/in-doubt')
    expect(setting.events).toMatchObject([{ type: 'in-doubt', decision: 'reject', request: 'POST /payments' }])
    await setting.clock.advance(59 * 60_000)
    expect(await typeOf(await setting.send(handle, never))).toBe('/problems/in-doubt')
    await setting.clock.advance(22 * 60_000)
    expect((await setting.send(handle, () => new Response())).status).toBe(200)
  })

  it('or frees its key, or is recorded, or is judged by its error', async () => {
    const abandoning = setting.handle({ endings: { thrown: 'abandon' } })
    await expect(setting.send(abandoning, fail, { key: 'a' })).rejects.toBe(failure)
    expect((await setting.send(abandoning, () => new Response(), { key: 'a' })).status).toBe(200)
    const recording = setting.handle({ endings: { thrown: 'complete' } })
    await expect(setting.send(recording, fail, { key: 'b' })).rejects.toBe(failure)
    const replay = await setting.send(recording, never, { key: 'b' })
    expect([replay.status, marks(replay), await typeOf(replay)]).toEqual([500, ['true', null], '/problems/work-failed'])
    const judging = setting.handle({ endings: { thrown: (error) => (error === failure ? 'abandon' : 'leave') } })
    await expect(setting.send(judging, fail, { key: 'c' })).rejects.toBe(failure)
    expect((await setting.send(judging, () => new Response(), { key: 'c' })).status).toBe(200)
  })

  it('a rule that throws is told of, does not hide the error of the work, and leaves the key in doubt', async () => {
    const mistake = new Error('mistake')
    const thrown = (): never => {
      throw mistake
    }
    const handle = setting.handle({ endings: { thrown } })
    await expect(setting.send(handle, fail)).rejects.toBe(failure)
    expect(setting.events).toMatchObject([{ type: 'misconfigured', cause: mistake }])
    expect(await typeOf(await setting.send(handle, never))).toBe('/problems/in-doubt')
  })

  it('an answer that is not made of bytes is work that failed', async () => {
    const text = new ReadableStream({ start: (controller) => controller.enqueue('text') })
    await expect(setting.send(setting.handle(), () => new Response(text))).rejects.toThrow('not bytes')
    expect(await typeOf(await setting.send(setting.handle(), never))).toBe('/problems/in-doubt')
  })

  it('an answer that is none is work that failed', async () => {
    await expect(setting.send(setting.handle(), () => undefined as never)).rejects.toThrow(TypeError)
    expect(await typeOf(await setting.send(setting.handle(), never))).toBe('/problems/in-doubt')
  })
})

describe('what is replayed', () => {
  it('is the bytes and the headers that say what was made, and never a cookie', async () => {
    const handle = setting.handle({ headers: ['X-Cost'] })
    const bytes = Uint8Array.of(0x00, 0xff, 0xfe, 0x80, 0x41)
    const headers = new Headers({
      'content-type': 'text/plain; charset=utf-8',
      'content-language': 'de',
      'cache-control': 'no-store',
      etag: '"1"',
      location: '/payments/1',
      'retry-after': '3',
      'x-cost': '7',
      'x-other': 'no',
    })
    headers.append('set-cookie', 'session=1')
    headers.append('set-cookie', 'session=2')
    const first = await setting.send(handle, () => new Response(bytes, { status: 201, statusText: 'Made', headers }))
    expect([first.headers.getSetCookie(), first.headers.get('x-other')]).toEqual([['session=1', 'session=2'], 'no'])
    const replay = await setting.send(handle, never)
    expect([replay.status, replay.statusText]).toEqual([201, 'Made'])
    expect(Object.fromEntries(replay.headers)).toEqual({
      'content-type': 'text/plain; charset=utf-8',
      'content-language': 'de',
      'cache-control': 'no-store',
      etag: '"1"',
      location: '/payments/1',
      'x-cost': '7',
      'idempotency-replayed': 'true',
    })
    for (const answer of [first, replay]) expect(new Uint8Array(await answer.arrayBuffer())).toEqual(bytes)
  })

  it('says to scripts of other origins which headers they may read', async () => {
    const handle = setting.handle()
    const headers = { origin: 'https://app.example' }
    await setting.send(handle, () => new Response(), { headers })
    const replay = await setting.send(handle, never, { headers })
    expect(replay.headers.get('access-control-expose-headers')).toBe('Idempotency-Replayed')
  })

  it('is a redirect, whose headers nobody may change', async () => {
    const handle = setting.handle()
    await setting.send(handle, () => Response.redirect('https://shop.example/done', 303))
    const replay = await setting.send(handle, never)
    expect([replay.status, replay.headers.get('location')]).toEqual([303, 'https://shop.example/done'])
  })

  it.each([mostResultBytes, 100])(
    'is nothing above %i bytes: the first gets all of it, and nobody runs again',
    async (most) => {
      const handle = setting.handle({ largestResult: most })
      const large = new Uint8Array(most + 100_000).fill(65)
      const first = await setting.send(handle, () => new Response(large, { status: 201 }))
      expect([first.status, new Uint8Array(await first.arrayBuffer())]).toEqual([201, large])
      for (let i = 0; i < 2; i++) {
        const later = await setting.send(handle, never)
        expect([later.status, await typeOf(later)]).toEqual([410, '/problems/result-not-kept'])
      }
      expect(setting.events).toMatchObject([{ type: 'not-kept', reason: 'too-large', status: 201 }])
    },
  )

  it('is nothing if only its headers make it too large', async () => {
    const handle = setting.handle({ largestResult: 200 })
    await setting.send(handle, () => new Response('a'.repeat(190)))
    expect((await setting.send(handle, never)).status).toBe(410)
    expect(told()).toEqual(['not-kept'])
  })

  it('is nothing of a body that does not end in time, and the first client gets it as it comes', async () => {
    const handle = setting.handle({ resultWithin: '5s' })
    let push: ((text: string | null) => void) | undefined
    const body = new ReadableStream({
      start(controller) {
        push = (text) => (text === null ? controller.close() : controller.enqueue(new TextEncoder().encode(text)))
      },
    })
    push?.('one ')
    const first = await setting.send(handle, () => new Response(body))
    push?.('two ')
    push?.(null)
    expect(await first.text()).toBe('one two ')
    expect((await setting.send(handle, never)).status).toBe(410)
    expect(setting.events).toMatchObject([{ type: 'not-kept', reason: 'too-slow' }])
  })

  it('is nothing of an endless body, of which no more is read than may be kept', async () => {
    const handle = setting.handle({ largestResult: 10_000 })
    let pulled = 0
    let cancelled = false
    const body = new ReadableStream({
      pull(controller) {
        pulled++
        controller.enqueue(new Uint8Array(1_000))
      },
      cancel() {
        cancelled = true
      },
    })
    const first = await setting.send(handle, () => new Response(body))
    expect(pulled).toBeLessThan(15)
    const reader = first.body?.getReader()
    for (let i = 0; i < 30; i++) await reader?.read()
    expect(pulled).toBeGreaterThan(25)
    await reader?.cancel()
    expect(cancelled).toBe(true)
  })

  it('a body that breaks off is work that failed', async () => {
    const broken = new ReadableStream({ start: (controller) => controller.error(new Error('cut')) })
    await expect(setting.send(setting.handle(), () => new Response(broken))).rejects.toThrow('cut')
    expect(await typeOf(await setting.send(setting.handle(), never))).toBe('/problems/in-doubt')
  })

  it('is not what a later version wrote', async () => {
    const handle = setting.handle()
    await setting.send(handle, () => new Response('x'))
    // A record of the same request, with a first byte that this version does not know.
    const other = setting.handle({ scope: 'other' })
    const { answered, answer, run } = await setting.begin(other)
    await (run as unknown as { complete(result: Uint8Array): Promise<unknown> }).complete(Uint8Array.of(2, 0, 0))
    const later = await setting.send(other, never)
    expect([later.status, told()]).toEqual([500, ['misconfigured']])
    answer(new Response())
    await setting.settled(answered).catch(() => undefined)
  })
})

describe('when the store does not answer', () => {
  const many = <T>(fate: T): T[] => Array.from({ length: 50 }, () => fate)

  it.each(['reply lost', 'request lost'] as const)(
    'a claim (%s), the work has not begun, and the key stays free',
    async (fate) => {
      const handle = setting.handle()
      setting.fates.claim = Array.from({ length: 4 }, () => fate)
      const response = await setting.send(handle, never)
      expect([response.status, response.headers.get('retry-after'), await typeOf(response)]).toEqual([
        503,
        '2',
        '/problems/store-unavailable',
      ])
      expect(setting.events).toMatchObject([{ type: 'unavailable', cause: { code: 'STORE_UNAVAILABLE' } }])
      setting.fates.claim = []
      await setting.clock.advance(10_000)
      expect((await setting.send(handle, () => new Response('ran'))).status).toBe(200)
    },
  )

  it('because the locker is closed, the client is sent elsewhere at once', async () => {
    const handle = setting.handle()
    await setting.locks.close()
    const response = await setting.send(handle, never)
    expect([response.status, response.headers.get('retry-after'), await typeOf(response)]).toEqual([
      503,
      '1',
      '/problems/shutting-down',
    ])
    expect(setting.events).toMatchObject([{ type: 'unavailable', cause: { code: 'CLOSED' } }])
  })

  it('a completion, the client gets its answer, marked, and nobody runs until it is known', async () => {
    const handle = setting.handle()
    setting.fates.complete = many('request lost')
    const first = await setting.send(handle, () => new Response('paid', { status: 201 }), {
      headers: { origin: 'https://app.example' },
    })
    expect([first.status, await first.text(), marks(first)]).toEqual([201, 'paid', [null, 'unknown']])
    expect(first.headers.get('access-control-expose-headers')).toBe('Idempotency-Recorded')
    expect(setting.events).toMatchObject([{ type: 'unrecorded', outcome: 'unknown' }])
    expect(await typeOf(await setting.send(handle, never))).toBe('/problems/in-progress')
    expect(setting.asked).not.toContain('abandon')
    setting.fates.complete = []
    await setting.clock.advance(10_000)
    expect(marks(await setting.send(handle, never))).toEqual(['true', null])
  })

  it('nor ever did, the key is in doubt once the lease is over', async () => {
    const handle = setting.handle({ ttl: '5s' })
    setting.fates.complete = many('request lost')
    await setting.send(handle, () => new Response('paid'))
    await setting.clock.advance(6_000)
    expect(await typeOf(await setting.send(handle, never))).toBe('/problems/in-doubt')
  })

  it('a completion that was carried out is no doubt', async () => {
    setting.fates.complete = ['reply lost']
    const first = await setting.send(setting.handle(), () => new Response('paid'))
    expect([marks(first), told()]).toEqual([[null, null], []])
  })

  it('an abandonment, the answer goes out all the same, and the key is free when that is known', async () => {
    const handle = setting.handle()
    setting.fates.abandon = Array.from({ length: 3 }, () => 'request lost' as const)
    const first = await setting.send(handle, () => new Response('', { status: 503 }))
    expect([first.status, marks(first), told()]).toEqual([503, [null, 'unknown'], ['unrecorded']])
    await setting.clock.advance(10_000)
    expect((await setting.send(handle, () => new Response())).status).toBe(200)
  })

  it('for want of memory, the record says that the work is done', async () => {
    const handle = setting.handle()
    setting.fates.complete = many('full')
    const first = await setting.send(handle, () => new Response('paid'))
    expect([await first.text(), marks(first)]).toEqual(['paid', [null, null]])
    expect((await setting.send(handle, never)).status).toBe(410)
    expect(setting.events).toMatchObject([{ type: 'not-kept', reason: 'store' }])
  })

  it('for a failover, the answer goes out, marked, and is recorded later', async () => {
    const handle = setting.handle()
    setting.fates.complete = Array.from({ length: 20 }, () => 'read-only' as const)
    const first = await setting.send(handle, () => new Response('paid'))
    expect([await first.text(), marks(first), told()]).toEqual(['paid', [null, 'unknown'], ['unrecorded']])
    await setting.clock.advance(15_000)
    expect(await (await setting.send(handle, never)).text()).toBe('paid')
  })
})

describe('a run that was overtaken', () => {
  /** Begins a run, takes its lock away, and lets it wait for its end. */
  async function late() {
    const { answered, answer: open, run } = await setting.begin(setting.handle())
    const { key, signal } = run
    await setting.elsewhere.revoke(key)
    return { answered, open, signal }
  }
  const rerun = (work: () => Response | Promise<Response>): Promise<Response> =>
    setting.send(setting.handle({ inDoubt: 'rerun' }), work)

  it('answers with what its successor recorded', async () => {
    const { answered, open } = await late()
    await rerun(() => new Response('second', { status: 201 }))
    open(new Response('first'))
    const first = await setting.settled(answered)
    expect([await first.text(), marks(first)]).toEqual(['second', ['true', null]])
    expect(setting.events).toMatchObject([{ type: 'in-doubt', decision: 'rerun' }, { type: 'overtaken' }])
  })

  it('is told so before its successor has recorded anything, and only one answer is ever given', async () => {
    const { answered, open } = await late()
    const second = await setting.begin(setting.handle({ inDoubt: 'rerun' }))
    open(new Response('first'))
    const first = await setting.settled(answered)
    expect([first.status, await typeOf(first)]).toEqual([409, '/problems/overtaken'])
    second.answer(new Response('second'))
    expect(await (await setting.settled(second.answered)).text()).toBe('second')
    expect(await (await setting.send(setting.handle(), never)).text()).toBe('second')
  })

  it('and whose successor recorded no content says that it is done', async () => {
    const { answered, open } = await late()
    await rerun(() => new Response(new Uint8Array(mostResultBytes + 1)))
    open(new Response('first'))
    expect((await setting.settled(answered)).status).toBe(410)
  })

  it('by nobody is recorded although its lease is lost, which its signal says', async () => {
    const { answered, open, signal } = await late()
    await setting.clock.advance(15_000)
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST' })
    open(new Response('late'))
    expect(await (await setting.settled(answered)).text()).toBe('late')
    expect(marks(await setting.send(setting.handle(), never))).toEqual(['true', null])
  })

  it('by oblivion is told that nothing was recorded', async () => {
    const { answered, open } = await late()
    await setting.clock.advance(81 * 60_000)
    open(new Response('first'))
    expect(marks(await setting.settled(answered))).toEqual([null, 'no'])
    expect(setting.events).toMatchObject([{ type: 'unrecorded', outcome: 'gone' }])
  })

  it('by one that did nothing is recorded', async () => {
    const { answered, open } = await late()
    await rerun(() => new Response('', { status: 503 }))
    open(new Response('first', { status: 201 }))
    expect(marks(await setting.settled(answered))).toEqual([null, null])
    expect(marks(await setting.send(setting.handle(), never))).toEqual(['true', null])
  })
})

describe('a run whose locker is closed while it is at work', () => {
  it.each([
    [201, 'true'],
    [503, null],
  ])('answers by itself, and ends as its status %d says', async (status, replayed) => {
    const { answered, answer: open, run } = await setting.begin(setting.handle())
    const { signal } = run
    await setting.settled(setting.locks.close({ grace: '1s' }))
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'closed' })
    open(new Response('mine', { status }))
    const first = await setting.settled(answered)
    expect([first.status, await first.text(), marks(first)]).toEqual([status, 'mine', [null, null]])
    const next = await setting.send(setting.handle({ locks: setting.elsewhere }), () => new Response('next'))
    expect(marks(next)).toEqual([replayed, null])
  })

  it('and whose store is gone answers by itself, marked', async () => {
    const { answered, answer: open } = await setting.begin(setting.handle())
    await setting.settled(setting.locks.close({ grace: 0 }))
    setting.fates.complete = Array.from({ length: 50 }, () => 'request lost' as const)
    open(new Response('mine', { status: 201 }))
    const first = await setting.settled(answered)
    expect([first.status, marks(first)]).toEqual([201, [null, 'unknown']])
    expect(told()).toEqual(['unrecorded'])
  })
})

describe('a key in doubt', () => {
  beforeEach(async () => {
    await setting.send(setting.handle(), () => Promise.reject(new Error('cut'))).catch(() => undefined)
  })

  it('stays in doubt when the run that follows says that it did nothing, and the next is told so', async () => {
    const handle = setting.handle({ inDoubt: 'rerun' })
    const overtook: unknown[] = []
    for (const status of [503, 429, 201]) {
      await setting.send(handle, (_, { run }) => {
        overtook.push(run?.overtook)
        return new Response('', { status })
      })
    }
    expect(new Set(overtook)).toEqual(new Set([expect.any(Number)]))
    expect(told()).toEqual(['in-doubt', 'in-doubt', 'in-doubt'])
  })

  it('runs again if the policy says so, and the run knows whom it overtook', async () => {
    let run: OngoingRun | undefined
    const handle = setting.handle({ inDoubt: 'rerun' })
    await setting.send(handle, (_, given) => {
      run = given.run
      return new Response()
    })
    expect(run?.overtook).toBeLessThan(run?.fence as number)
    expect(setting.events).toMatchObject([{ type: 'in-doubt', decision: 'rerun', fence: run?.overtook }])
    expect(marks(await setting.send(handle, never))).toEqual(['true', null])
  })

  it('may be judged by a function, which rejects, runs, or answers by itself', async () => {
    const seen: unknown[] = []
    const judged = (decision: 'reject' | 'rerun' | Response) =>
      setting.handle({
        inDoubt: async (doubt) => {
          seen.push(doubt)
          return decision
        },
      })
    expect((await setting.send(judged('reject'), never)).status).toBe(409)
    expect(await (await setting.send(judged(new Response('the bank says yes')), never)).text()).toBe(
      'the bank says yes',
    )
    expect(
      await (
        await setting.send(judged('rerun'), (_, { run }) => new Response(String(run?.overtook !== undefined)))
      ).text(),
    ).toBe('true')
    expect(setting.events.map((event) => event.type === 'in-doubt' && event.decision)).toEqual([
      'reject',
      'response',
      'rerun',
    ])
    expect(seen).toHaveLength(3)
    expect(seen[0]).toMatchObject({ key: 'k1', holder: 'here', fence: expect.any(Number), forMs: expect.any(Number) })
  })

  it('that another run left while the policy thought about the first is told of, too', async () => {
    const rerunning = setting.handle({ inDoubt: 'rerun' })
    const handle = setting.handle({
      inDoubt: async () => {
        await rerunning(requestOf(), () => Promise.reject(new Error('cut again'))).catch(() => undefined)
        return 'rerun'
      },
    })
    expect((await setting.send(handle, () => new Response())).status).toBe(200)
    const told = setting.events.map((event) => event.type === 'in-doubt' && event.fence)
    expect([told.length, new Set(told).size]).toEqual([3, 2])
  })

  it('is no doubt about another request: that is told first', async () => {
    expect((await setting.send(setting.handle(), never, { body: 'other' })).status).toBe(422)
    expect(setting.events).toEqual([])
  })
})

it('a listener or a waitUntil that throws changes nothing', async () => {
  const handle = setting.handle({
    onEvent: () => {
      throw new Error('listener')
    },
  })
  const tasks: Promise<unknown>[] = []
  const failing = handle(requestOf(), () => Promise.reject(new Error('work')), {
    waitUntil(task) {
      tasks.push(task)
      throw new Error('waitUntil')
    },
  })
  await expect(setting.settled(failing)).rejects.toThrow('work')
  expect((await setting.send(handle, never)).status).toBe(409)
  await Promise.all(tasks)
  expect(tasks).toHaveLength(1)
})
