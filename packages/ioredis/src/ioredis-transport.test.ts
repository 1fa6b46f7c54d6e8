import { inspect } from 'node:util'
import type { RedisTransport, ScriptCall, ScriptReply } from '@leasehold/core/redis'
import { callUntil } from '@leasehold/testkit'
import { startRedis } from '@leasehold/testkit/redis'
import * as ioredis6 from 'ioredis'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { behindProxy, type ClientOptions, clients } from '../test/clients.ts'
import { ioredisTransport } from './ioredis-transport.ts'

const token = '0123456789abcdef0123456789abcdef.1700000000000000'
const script = (body: string, ...args: string[]): ScriptCall => ({ command: 'EVAL', body, keys: ['lock:a'], args })
const increment = script("return redis.call('INCR', KEYS[1])", token)
const value = (of: unknown, resent = false): ScriptReply => ({ type: 'value', value: of, resent })
const never = new AbortController().signal

describe.each(clients)('ioredisTransport over $name', ({ create }) => {
  const network = behindProxy(create)
  const { connect } = network
  const run = async (transport: RedisTransport, call: ScriptCall, signal = never): Promise<ScriptReply | undefined> =>
    (await transport.run([call], callUntil(signal)))[0]
  const count = (): Promise<unknown> => network.redis.command('GET', 'lock:a')

  it('answers what a script returns, text as text and numbers as numbers', async () => {
    const transport = ioredisTransport(connect())
    expect(transport).toMatchObject({ cluster: false, commandDeadlineMs: 2_000 })
    const all = script("return {1, '2', {}, {'é', false}, redis.status_reply('OK')}")
    expect(await run(transport, all)).toEqual(value([1, '2', [], ['é', null], 'OK']))
    expect(await run(transport, script('return {KEYS[1], ARGV[1], ARGV[2]}', 'ü', ''))).toEqual(
      value(['lock:a', 'ü', '']),
    )
  })

  it('answers the same when the client turns numbers into strings, or pipelines by itself', async () => {
    for (const option of [{ stringNumbers: true }, { enableAutoPipelining: true }]) {
      const transport = ioredisTransport(connect(option))
      expect(await run(transport, script("return {1, '2'}"))).toEqual(value([1, '2']))
    }
  })

  it('answers several calls in order, each with its own reply or error', async () => {
    const transport = ioredisTransport(connect())
    const missing: ScriptCall = { command: 'EVALSHA', body: 'f'.repeat(40), keys: ['lock:a'], args: [token] }
    const replies = await transport.run([increment, missing, increment, script('return {}')], callUntil(never))
    expect(replies).toEqual([
      value(1),
      { type: 'error', message: expect.stringMatching(/^NOSCRIPT/) },
      value(2),
      value([]),
    ])
    expect(await transport.run([], callUntil(never))).toEqual([])
  })

  it.each<ClientOptions>([{}, { maxRetriesPerRequest: null }])(
    'says that an answer is to a repeated request when the connection was lost in between: %j',
    async (options) => {
      const transport = ioredisTransport(connect(options))
      expect(await run(transport, increment)).toEqual(value(1))
      const dropped = network.proxy.dropNextReply('cut')
      const again = run(transport, increment)
      await dropped
      expect(await again).toEqual(value(3, true))
      expect(await run(transport, increment)).toEqual(value(4))
    },
  )

  it('does not know what became of a request that the client gave up, and shows no argument of it', async () => {
    const transport = ioredisTransport(connect({ autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 }))
    await run(transport, script('return 1'))
    const dropped = network.proxy.dropNextReply('cut')
    const lost = transport.run([increment, increment], callUntil(never))
    await dropped
    for (const reply of await lost) expect(reply).toMatchObject({ type: 'unknown', executed: 'unknown' })
    expect(await count()).toBe('2')
    expect(inspect(await lost, { depth: 10, showHidden: true })).not.toContain(token)
    expect(JSON.stringify(await lost)).not.toContain(token)
  })

  it('sends nothing for a caller who gives up in the very moment in which the client becomes ready', async () => {
    const client = connect({ lazyConnect: true })
    const stop = new AbortController()
    client.on('ready', () => stop.abort())
    const reply = await run(ioredisTransport(client), increment, stop.signal)
    expect(reply).toMatchObject({ type: 'unknown', executed: 'no' })
    expect(await run(ioredisTransport(client), script("return redis.call('EXISTS', KEYS[1])"))).toEqual(value(0))
  })

  it('stops waiting for an answer when it is aborted', async () => {
    const transport = ioredisTransport(connect())
    await run(transport, script('return 1'))
    const controller = new AbortController()
    const release = network.proxy.holdReplies()
    const executed = network.proxy.nextReply()
    const reply = run(transport, increment, controller.signal)
    await executed
    controller.abort()
    expect(await reply).toMatchObject({ type: 'unknown', executed: 'unknown', cause: expect.any(Error) })
    release()
    expect(await run(transport, increment)).toEqual(value(2))
  })

  describe('on a connection on which a thousand calls were given up', () => {
    const giveUp = async (transport: RedisTransport, count: number): Promise<void> => {
      const controller = new AbortController()
      const given = Array.from({ length: count }, () => run(transport, increment, controller.signal))
      controller.abort()
      for (const reply of await Promise.all(given)) expect(reply).toMatchObject({ executed: 'unknown' })
    }
    /** Repeats a call until it is sent, as a caller does who learns that it was not. */
    const asksAgain = async (transport: RedisTransport): Promise<ScriptReply | undefined> => {
      for (;;) {
        const reply = await run(transport, increment)
        if (reply?.type !== 'unknown' || reply.executed !== 'no') return reply
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    /** Sets the time, which otherwise stands still. */
    const timeIs = (ms: number): void => {
      vi.spyOn(performance, 'now').mockReturnValue(ms)
    }
    beforeEach(() => timeIs(0))
    afterEach(() => {
      vi.restoreAllMocks()
    })

    it('holds calls back once it has been silent for long, until it answers', async () => {
      const transport = ioredisTransport(connect())
      await run(transport, script('return 1'))
      const release = network.proxy.holdReplies()
      await giveUp(transport, 1_000)
      timeIs(2_001)
      expect(await run(transport, increment)).toMatchObject({ executed: 'no', cause: expect.any(Error) })
      release()
      expect(await asksAgain(transport)).toEqual(value(1_001))
    })

    it('sends one call per half second nevertheless', async () => {
      const transport = ioredisTransport(connect())
      await run(transport, script('return 1'))
      network.proxy.holdReplies()
      await giveUp(transport, 1_000)
      for (const ms of [2_501, 3_002]) {
        timeIs(ms)
        const controller = new AbortController()
        const replies = transport.run([increment, increment], callUntil(controller.signal))
        const later = run(transport, increment)
        controller.abort()
        expect(await replies).toMatchObject([{ executed: 'unknown' }, { executed: 'no' }])
        expect(await later).toMatchObject({ executed: 'no' })
      }
    })

    it('is reached again by such a call where the late answers reach nobody, as the client has given up by itself', async () => {
      const client = connect({ commandTimeout: 1_000 })
      const transport = ioredisTransport(client)
      await run(transport, script('return 1'))
      const release = network.proxy.holdReplies()
      for (const reply of await transport.run(Array(1_000).fill(increment), callUntil(never))) {
        expect(reply).toMatchObject({ executed: 'unknown', cause: { message: expect.stringContaining('timed out') } })
      }
      timeIs(2_001)
      release()
      // Replies come in order, so the thousand have been answered by then.
      expect(await client.ping()).toBe('PONG')
      expect(await run(transport, increment)).toMatchObject({ executed: 'no' })
      timeIs(2_501)
      expect(await run(transport, increment)).toEqual(value(1_001))
      expect(await run(transport, increment)).toEqual(value(1_002))
    })

    it('sends on the connection that took its place', async () => {
      const transport = ioredisTransport(connect({ autoResendUnfulfilledCommands: false }))
      await run(transport, script('return 1'))
      network.proxy.blackHole()
      await giveUp(transport, 1_000)
      timeIs(2_001)
      expect(await run(transport, increment)).toMatchObject({ executed: 'no' })
      network.proxy.restore()
      network.proxy.cut()
      expect(await asksAgain(transport)).toMatchObject({ type: 'value' })
    })

    it('goes on sending while that answers, however many were given up at once', async () => {
      const transport = ioredisTransport(connect())
      await run(transport, script('return 1'))
      await giveUp(transport, 5_000)
      expect(await run(transport, increment)).toEqual(value(5_001))
      await giveUp(transport, 999)
      timeIs(60_000)
      expect(await run(transport, increment)).toEqual(value(6_001))
    })
  })

  it('connects a client that was never asked to', async () => {
    const client = connect({ lazyConnect: true })
    const transport = ioredisTransport(client)
    expect(client.status).toBe('wait')
    expect(await Promise.all([run(transport, increment), run(transport, increment)])).toEqual([value(1), value(2)])
  })

  it('needs no offline queue of the client', async () => {
    const client = connect({ lazyConnect: true, enableOfflineQueue: false })
    const transport = ioredisTransport(client)
    expect(await run(transport, increment)).toEqual(value(1))
    const lost = new Promise((resolve) => client.once('close', resolve))
    network.proxy.cut()
    await lost
    expect(await run(transport, increment)).toEqual(value(2))
  })

  it('gets out of a connection that has died without a word if the client has a socketTimeout', async () => {
    const transport = ioredisTransport(connect({ socketTimeout: 1_000 }))
    await run(transport, script('return 1'))
    const dead = network.proxy.dropNextReply('silence')
    const reply = run(transport, increment)
    await dead
    // Resent by the client, on a new connection.
    expect(await reply).toEqual(value(2, true))
  })

  it('waits for a connection, and sends then', async () => {
    network.proxy.refuse()
    const transport = ioredisTransport(connect({ lazyConnect: true }))
    const reply = run(transport, increment)
    await network.proxy.accept()
    expect(await reply).toEqual(value(1))
  })

  it('never sends what was aborted while it waited for a connection', async () => {
    network.proxy.refuse()
    const client = connect()
    const transport = ioredisTransport(client)
    const controller = new AbortController()
    const reply = run(transport, increment, controller.signal)
    controller.abort()
    expect(await reply).toMatchObject({ type: 'unknown', executed: 'no', cause: expect.any(Error) })
    expect(await run(transport, increment, controller.signal)).toMatchObject({ executed: 'no' })
    await network.proxy.accept()
    expect(await run(transport, increment)).toEqual(value(1))
  })

  it('does not put a call into the queue of a client whose connection is ending', async () => {
    const client = connect()
    const transport = ioredisTransport(client)
    await run(transport, script('return 1'))
    const controller = new AbortController()
    client.stream.destroy()
    expect(client.status).toBe('ready')
    const reply = run(transport, increment, controller.signal)
    controller.abort()
    expect(await reply).toMatchObject({ executed: 'no' })
    expect(await run(transport, increment)).toEqual(value(1))
  })

  it('says that nothing was sent to a call that waits for a client which is closed then, or was before', async () => {
    network.proxy.refuse()
    const client = connect()
    const transport = ioredisTransport(client)
    const waiting = transport.whenReady('lock:a', callUntil(never))
    client.disconnect()
    const notSent = { type: 'unknown', executed: 'no', cause: expect.any(Error) }
    expect(await waiting).toEqual(notSent)
    expect(await transport.whenReady('lock:a', callUntil(never))).toEqual(notSent)
    await network.proxy.accept()
  })

  it('waits again for a connection that was lost', async () => {
    const client = connect()
    const transport = ioredisTransport(client)
    await run(transport, increment)
    expect(transport.whenReady('lock:a', callUntil(never))).toBeUndefined()
    // The client considers the connection ready until it hears of its end, and would keep a call for later.
    client.stream.destroy()
    expect(client.status).toBe('ready')
    const waiting = transport.whenReady('lock:a', callUntil(never))
    expect(waiting).toBeInstanceOf(Promise)
    expect(await waiting).toBeUndefined()
    expect(transport.whenReady('lock:a', callUntil(never))).toBeUndefined()
    expect(await run(transport, increment)).toEqual(value(2))
  })

  it('is not kept back by an unanswered pipeline of the client’s own', async () => {
    const client = connect({ enableAutoPipelining: true })
    const transport = ioredisTransport(client)
    await run(transport, script('return 1'))
    const release = network.proxy.holdReplies()
    const executed = network.proxy.nextReply()
    const mine = client.set('mine', '1')
    await executed
    const second = network.proxy.nextReply()
    const reply = run(transport, increment)
    await second
    expect(await count()).toBe('1')
    release()
    expect([await mine, await reply]).toEqual(['OK', value(1)])
  })

  it('answers at once for a client that was closed', async () => {
    const client = connect({ lazyConnect: true })
    const transport = ioredisTransport(client)
    const waiting = run(transport, increment)
    client.disconnect()
    expect(await waiting).toMatchObject({ type: 'unknown', executed: 'no' })
    expect(client.status).toBe('end')
    expect(await run(transport, increment)).toMatchObject({ type: 'unknown', executed: 'no' })
  })

  it('leaves no listener after a thousand calls of twenty stores to a closed port, and needs one while they wait', async () => {
    network.proxy.refuse()
    const client = connect({ retryStrategy: () => 60_000 })
    await new Promise((resolve) => client.once('reconnecting', resolve))
    const before = client.eventNames().map((event) => [event, client.listenerCount(event)])
    const warnings: Error[] = []
    const onWarning = (warning: Error): number => warnings.push(warning)
    process.on('warning', onWarning)
    const controller = new AbortController()
    const transports = Array.from({ length: 20 }, () => ioredisTransport(client))
    const replies = Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        run(transports[index % 20] as RedisTransport, increment, controller.signal),
      ),
    )
    const counted = (event: string): number => Number(before.find(([name]) => name === event)?.[1] ?? 0)
    expect(client.listenerCount('ready')).toBe(counted('ready') + 1)
    expect(client.listenerCount('end')).toBe(counted('end') + 1)
    controller.abort()
    for (const reply of await replies) expect(reply).toMatchObject({ type: 'unknown', executed: 'no' })
    expect(client.eventNames().map((event) => [event, client.listenerCount(event)])).toEqual(before)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })

  it('changes no option and leaves no listener', async () => {
    const client = connect({ lazyConnect: true })
    await client.connect()
    const seen = (): unknown[] => [
      inspect(client.options),
      client.eventNames().map((event) => [event, client.listenerCount(event)]),
    ]
    const before = seen()
    await run(ioredisTransport(client), increment)
    expect(seen()).toEqual(before)
  })

  it('refuses a client that renames keys, by name', () => {
    expect(() => ioredisTransport(connect({ keyPrefix: 'app:', lazyConnect: true }))).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        option: 'client',
        message: expect.stringContaining('"prefix"'),
      }),
    )
  })
})

describe('ioredisTransport', () => {
  it('refuses what is no ioredis-compatible client, by name', () => {
    for (const other of [undefined, null, {}, { sendCommand: () => undefined, options: {} }]) {
      expect(() => ioredisTransport(other as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', option: 'client' }),
      )
    }
  })

  it('does not repeat the arguments that a server quotes', async () => {
    await using redis = await startRedis({ args: ['--rename-command', 'EVALSHA', ''] })
    const client = new ioredis6.Redis(redis.port)
    const call: ScriptCall = { command: 'EVALSHA', body: 'f'.repeat(40), keys: ['lock:a'], args: [token] }
    const replies = await ioredisTransport(client).run([call], callUntil(never))
    client.disconnect()
    expect(replies).toEqual([{ type: 'error', message: "ERR unknown command 'evalsha'" }])
  })
})
