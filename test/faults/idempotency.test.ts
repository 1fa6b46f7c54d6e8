import { once } from 'node:events'
import { createLocker, type Locker } from '@leasehold/core'
import { claimRecord, type RecordClaim, type Run } from '@leasehold/core/records'
import {
  type IdempotencyEvent,
  type IdempotentHandle,
  type IdempotentOptions,
  type IdempotentWork,
  idempotent,
} from '@leasehold/idempotency'
import { ioredisStore } from '@leasehold/ioredis'
import { type HttpProxy, startHttpProxy, startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { listen } from '../../packages/bridge/src/bin/http-server.ts'
import { ioredisGateway } from '../../packages/bridge/src/bin/ioredis-gateway.ts'
import { createGateway } from '../../packages/bridge/src/gateway/index.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, eventually } from '../support/scale.ts'

/*
 * Idempotent handlers while Redis is silent, loses replies, gets requests twice or answers errors, at each step of a
 * run: its claim, its renewal, its completion. Whatever happens, the work is done once, and nobody is told to repeat it
 * unless it was not done.
 */

interface Way {
  readonly redis: RedisServer
  readonly locks: Locker
  readonly network: HttpProxy | TcpProxy
  /** The server carries out the next request, and its reply is lost. */
  loseReply(): Promise<void>
  /** From now on every request fails at once and is not carried out. */
  goDown(): void
  comeBack(): Promise<void>
}

const ends: (() => unknown)[] = []
afterAll(async () => {
  for (const end of ends.reverse()) await end()
})

/**
 * Each way has its own server, and its tests run one after another; the ways run side by side, since they mostly wait.
 */
const inTurn = { concurrent: false }

async function serve(): Promise<RedisServer> {
  const redis = await startRedis()
  ends.push(() => redis.stop())
  return redis
}

async function overTcp(): Promise<Way> {
  const redis = await serve()
  const network = await startTcpProxy({ port: redis.port })
  const client = quiet(new Redis({ port: network.port, autoResendUnfulfilledCommands: false, retryStrategy: () => 1 }))
  const locks = createLocker({ store: ioredisStore(client), name: 'tcp' })
  ends.push(
    () => network.stop(),
    () => client.disconnect(),
    () => locks.close({ grace: 0 }),
  )
  await once(client, 'ready')
  const goDown = (): void => {
    network.cut()
    network.refuse()
  }
  const comeBack = async (): Promise<void> => {
    // Not with `once` of node:events, which rejects if an earlier reconnect attempt was refused.
    const ready = new Promise((resolve) => client.once('ready', resolve))
    await network.accept()
    await ready
  }
  return { redis, locks, network, loseReply: () => network.dropNextReply(), goDown, comeBack }
}

async function overHttp(): Promise<Way> {
  const redis = await serve()
  const token = 'idempotency-token-0123456789abcdef0123'
  const gateway = ioredisGateway(`redis://127.0.0.1:${redis.port}`, { unansweredMs: 5_000 })
  const server = await listen(createGateway({ redis: gateway, tokens: [token] }), { host: '127.0.0.1', port: 0 })
  const network = await startHttpProxy({ target: server.url })
  const locks = createLocker({ store: fetchStore({ url: network.url, token }), name: 'http' })
  ends.push(
    gateway.close,
    () => server.close(0),
    () => network.stop(),
    () => locks.close({ grace: 0 }),
  )
  return {
    redis,
    locks,
    network,
    loseReply: () => network.dropNextReply(),
    goDown: () => network.answer({ status: 503, body: 'down' }),
    comeBack: async () => network.restore(),
  }
}

const marks = ({ headers }: Response): (string | null)[] =>
  ['idempotency-replayed', 'idempotency-recorded'].map((name) => headers.get(name))
const typeOf = async (response: Response): Promise<string> => ((await response.json()) as { type: string }).type

describe.concurrent.each([
  ['TCP', overTcp],
  ['HTTP', overHttp],
] as const)('over %s', (name, open) => {
  let way: Way
  let scope: string
  let cases = 0
  let runs: number
  let events: IdempotencyEvent[]

  beforeAll(async () => {
    way = await open()
    scope = `${name}-warm`
    // The server knows every script, so that a request is one command.
    await send(handle(), () => new Response(''))
    await send(handle(), () => new Response(''), 'abandoned').catch(() => undefined)
    await send(handle({ endings: { 200: 'abandon' } }), () => new Response(''), 'abandoned-2')
  })
  beforeEach(() => {
    scope = `${name}-${cases++}`
    runs = 0
    events = []
  })
  afterEach(() => way.network.restore())

  const handle = (options: Partial<IdempotentOptions> = {}): IdempotentHandle =>
    idempotent({ locks: way.locks, scope, onEvent: (event) => events.push(event), ...options })
  const send = (through: IdempotentHandle, work: IdempotentWork, key = 'k'): Promise<Response> => {
    const request = { method: 'POST', headers: { 'idempotency-key': key }, body: 'a' }
    return through(new Request('https://shop.example/payments', request), work)
  }
  const pay: IdempotentWork = () => {
    runs++
    return new Response(`paid ${runs}`, { status: 201 })
  }
  /** Pays, and does something to the network before it answers. */
  const payThen =
    (disturb: () => unknown): IdempotentWork =>
    async (...given) => {
      const answer = await pay(...given)
      await disturb()
      return answer
    }

  it('silent at the claim: 503, nothing ran, and the key is free once Redis is back', inTurn, async ({ expect }) => {
    way.network.blackHole()
    const answer = await send(handle(), pay)
    expect([answer.status, await typeOf(answer), runs]).toEqual([503, '/problems/store-unavailable', 0])
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(events).toMatchObject([{ type: 'unavailable' }])
    way.network.restore()
    // What was sent into the silence arrives now, and is undone.
    await expect.poll(async () => (await send(handle(), pay)).status, { timeout: 15_000 }).toBe(201)
    expect(runs).toBe(1)
  })

  it(
    'silent at the renewal: the signal fires, and the answer is recorded although its lease was lost',
    inTurn,
    async ({ expect }) => {
      const through = handle({ ttl: '1500ms' })
      const first = await send(through, async (request, context) => {
        way.network.blackHole()
        await once(request.signal, 'abort')
        way.network.restore()
        return pay(request, context)
      })
      expect([first.status, marks(first)]).toEqual([201, [null, null]])
      const second = await send(through, pay)
      expect([await second.text(), marks(second), runs]).toEqual(['paid 1', ['true', null], 1])
    },
  )

  it(
    'silent at the completion: the answer goes out marked, nobody runs, and it is recorded when Redis is back',
    inTurn,
    async ({ expect }) => {
      const first = await send(
        handle(),
        payThen(() => way.network.blackHole()),
      )
      expect([first.status, await first.text(), marks(first)]).toEqual([201, 'paid 1', [null, 'unknown']])
      expect(events).toMatchObject([{ type: 'unrecorded', outcome: 'unknown' }])
      way.network.restore()
      await expect.poll(async () => marks(await send(handle(), pay)), { timeout: 15_000 }).toEqual(['true', null])
      expect(runs).toBe(1)
    },
  )

  it(
    'silent from the completion to the end of the lease: the key is in doubt or done, and nobody runs',
    inTurn,
    async ({ expect }) => {
      const through = handle({ ttl: '2500ms' })
      const first = await send(
        through,
        payThen(() => way.network.blackHole()),
      )
      expect(marks(first)).toEqual([null, 'unknown'])
      await expect.poll(() => way.redis.command('EXISTS', `lock:idempotency:${scope}:k`)).toBe(0)
      // From here on, what was sent into the silence is lost.
      way.network.cut()
      way.network.restore()
      const next = await send(through, pay)
      expect([[409, 201].includes(next.status), runs]).toEqual([true, 1])
    },
  )

  it(
    'cut off from the completion to the end of the lease: the answer goes out marked, the key is in doubt, and nobody runs',
    inTurn,
    async ({ expect }) => {
      const through = handle({ ttl: '2500ms' })
      const first = await send(
        through,
        payThen(() => way.goDown()),
      )
      expect([first.status, await first.text(), marks(first)]).toEqual([201, 'paid 1', [null, 'unknown']])
      expect(events).toMatchObject([{ type: 'unrecorded', outcome: 'unknown' }])
      await expect.poll(() => way.redis.command('EXISTS', `lock:idempotency:${scope}:k`)).toBe(0)
      await way.comeBack()
      const next = await send(through, pay)
      expect([next.status, await typeOf(next), runs]).toEqual([409, '/problems/in-doubt', 1])
    },
  )

  it.for(['claim', 'completion'])(
    'the reply to the %s is lost: the work is done once, and nobody notices',
    inTurn,
    async (step, { expect }) => {
      const lost = step === 'claim' ? way.loseReply() : undefined
      let second: Promise<void> | undefined
      const first = await send(
        handle(),
        payThen(() => {
          second = lost ? undefined : way.loseReply()
        }),
      )
      await (lost ?? second)
      expect([await first.text(), marks(first)]).toEqual(['paid 1', [null, null]])
      const replay = await send(handle(), pay)
      expect([await replay.text(), marks(replay), runs, events]).toEqual(['paid 1', ['true', null], 1, []])
    },
  )

  it('the reply to the abandonment is lost: the key is free', inTurn, async ({ expect }) => {
    let lost: Promise<void> | undefined
    const declined = await send(handle(), () => {
      lost = way.loseReply()
      return new Response('', { status: 503 })
    })
    await lost
    expect([declined.status, marks(declined)]).toEqual([503, [null, null]])
    expect((await send(handle(), pay)).status).toBe(201)
  })

  it(
    'a failover refuses the completion: the answer goes out marked, and is recorded when that is over',
    inTurn,
    async ({ expect }) => {
      const first = await send(
        handle({ ttl: '6s' }),
        payThen(() => way.redis.command('CONFIG', 'SET', 'min-replicas-to-write', '1')),
      ).finally(() => way.redis.command('CONFIG', 'SET', 'min-replicas-to-write', '0'))
      expect([first.status, marks(first), events.map(({ type }) => type)]).toEqual([
        201,
        [null, 'unknown'],
        ['unrecorded'],
      ])
      await expect.poll(async () => marks(await send(handle(), pay)), { timeout: 15_000 }).toEqual(['true', null])
      expect(runs).toBe(1)
    },
  )

  describe('a claim by itself', () => {
    const claim = (rerun = false, signal?: AbortSignal): Promise<RecordClaim> =>
      claimRecord(way.locks, scope, { fingerprint: 'same', ttl: '3s', wait: 0, rerun, signal })
    const begin = async (rerun?: boolean): Promise<Run> => {
      const found = await claim(rerun)
      expect(found.type).toBe('claimed')
      return (found as Extract<RecordClaim, { type: 'claimed' }>).run
    }
    const found = async (): Promise<string> => (await claim()).type

    it('whose replies are lost, at each step, ends as it would have', inTurn, async ({ expect }) => {
      const lost = [way.loseReply()]
      const run = await begin()
      lost.push(way.loseReply())
      expect(await run.abandon()).toEqual({ type: 'abandoned' })
      const next = await begin()
      lost.push(way.loseReply())
      expect(await next.complete(Uint8Array.of(1))).toEqual({ type: 'completed', result: true })
      await Promise.all(lost)
      expect(await found()).toBe('done')
    })

    it('of a key in doubt, whose client leaves before the reply, leaves it in doubt', inTurn, async ({ expect }) => {
      const first = await begin()
      await first.leave()
      const left = new AbortController()
      way.network.delay(300, 'toClient')
      const claiming = claim(true, left.signal)
      await eventually(async () => (await way.redis.command('EXISTS', `lock:${scope}`)) === 1)
      left.abort('left')
      await expect(claiming).rejects.toBe('left')
      way.network.delay(0)
      await expect.poll(found, { timeout: 10_000 }).toBe('in-doubt')
      expect((await begin(true)).overtook).toBe(first.fence)
    })

    it(
      'that was carried out when an outage began is undone when it is over, and nobody is in doubt',
      inTurn,
      async ({ expect }) => {
        const lost = way.loseReply().then(() => way.goDown())
        const claiming = claim()
        await lost
        await expect(claiming).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
        // The lease ends, and the first tries to undo the claim fail.
        await eventually(async () => (await way.redis.command('EXISTS', `lock:${scope}`)) === 0)
        await elapse(2_000)
        // The record is running, and nobody has the lock. A request once the store is back may already find it undone.
        expect(await way.redis.command('EXISTS', `{lock:${scope}}:record`)).toBe(1)
        await way.comeBack()
        await expect.poll(found, { timeout: 15_000 }).toBe('claimed')
      },
    )
  })
})

// Run alone: its bursts would keep the others from being answered in time.
describe('over HTTP, where the gateway answers by itself', () => {
  let way: Way & { readonly network: HttpProxy }
  beforeAll(async () => {
    way = (await overHttp()) as typeof way
  })
  afterEach(() => way.network.restore())

  const send = (
    scope: string,
    work: IdempotentWork,
    events: IdempotencyEvent[] = [],
    ttl: '3s' | '1m' = '3s',
  ): Promise<Response> =>
    idempotent({ locks: way.locks, scope, ttl, onEvent: (event) => events.push(event) })(
      new Request('https://shop.example/', { method: 'POST', headers: { 'idempotency-key': 'k' }, body: 'a' }),
      work,
    )

  it.for([500, 413, 503])(
    '%i to the completion: the payment is never made again',
    inTurn,
    async (status, { expect }) => {
      let runs = 0
      const events: IdempotencyEvent[] = []
      const pay: IdempotentWork = () => {
        runs++
        way.network.answer({ status, body: 'no' })
        return new Response('paid', { status: 201 })
      }
      const scope = `answers-${status}`
      const first = await send(scope, pay, events)
      expect([first.status, await first.text(), marks(first)]).toEqual([201, 'paid', [null, 'unknown']])
      expect(events.map(({ type }) => type)).toEqual(['unrecorded'])
      way.network.restore()
      for (let i = 0; i < 3; i++) {
        const next = await send(scope, pay)
        // Told to come back, in doubt, done without its answer (a 413 is about the answer), or replayed.
        expect([[409, 410].includes(next.status) || marks(next)[0] === 'true', runs]).toEqual([true, 1])
        await elapse(1_500)
      }
    },
  )

  it(
    '413 to the completion and not to what is smaller: the record says that the work is done',
    inTurn,
    async ({ expect }) => {
      const events: IdempotencyEvent[] = []
      const first = await send(
        'too-large',
        () => {
          way.network.answerNext({ status: 413, body: 'no' })
          return new Response('paid', { status: 201 })
        },
        events,
      )
      expect([first.status, await first.text(), marks(first)]).toEqual([201, 'paid', [null, null]])
      expect(events).toMatchObject([{ type: 'not-kept', reason: 'store' }])
      expect((await send('too-large', () => new Response('again'))).status).toBe(410)
    },
  )

  it('every request arrives twice: thirty duplicates run once', inTurn, async ({ expect }) => {
    way.network.duplicate('last')
    let runs = 0
    // A lease of a minute leaves each command its whole deadline: a busy machine may need it.
    const arrives = (work: IdempotentWork): Promise<Response> => send('twice', work, [], '1m')
    const answers = await Promise.all(
      Array.from({ length: 30 }, () =>
        arrives(async () => {
          runs++
          await elapse(100)
          return new Response('paid', { status: 201 })
        }),
      ),
    )
    // 503 on a machine so busy that the store is not heard in time: nothing was done for that request, which is what
    // counts.
    expect([runs, answers.every(({ status }) => [201, 409, 503].includes(status))]).toEqual([1, true])
    expect(marks(await arrives(() => new Response('again')))).toEqual(['true', null])
  })

  it(
    'about every third reply is lost while sixty duplicates of six keys come: six payments, and one answer for each key',
    inTurn,
    async ({ expect }) => {
      const storm = new AbortController()
      const losing = async (): Promise<void> => {
        while (!storm.signal.aborted) {
          for (let i = 0; i < 2; i++) await way.network.nextRequest()
          void way.network.dropNextReply()
        }
      }
      void losing()
      const runs: string[] = []
      const pay = async (scope: string): Promise<Response> =>
        send(scope, async () => {
          runs.push(scope)
          await elapse(50)
          return new Response(`paid ${runs.length}`, { status: 201 })
        })
      const scopes = Array.from({ length: 6 }, (_, at) => `storm-${at}`)
      const bodies = new Map(scopes.map((scope) => [scope, new Set<string>()]))
      const keep = async (scope: string, answer: Response): Promise<number> => {
        if (answer.status === 201) bodies.get(scope)?.add(await answer.text())
        return answer.status
      }
      const duplicates = Array.from({ length: 10 }, () => scopes).flat()
      const statuses = await Promise.all(duplicates.map(async (scope) => keep(scope, await pay(scope))))
      expect(statuses.filter((status) => ![201, 409, 503].includes(status))).toEqual([])
      storm.abort()
      await expect
        .poll(async () => Promise.all(scopes.map(async (scope) => keep(scope, await pay(scope)))))
        .toEqual(scopes.map(() => 201))
      expect(runs.toSorted()).toEqual(scopes)
      expect([...bodies.values()].map(({ size }) => size)).toEqual(scopes.map(() => 1))
    },
  )
})
