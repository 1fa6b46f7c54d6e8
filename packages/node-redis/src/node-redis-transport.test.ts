import { Socket } from 'node:net'
import { inspect } from 'node:util'
import {
  type ConfirmedRun,
  type RedisTransport,
  replicaWaitOf,
  type ScriptCall,
  type ScriptReply,
} from '@leasehold/core/redis'
import { callUntil } from '@leasehold/testkit'
import { startRedis, startRedisSentinel } from '@leasehold/testkit/redis'
import { createClientPool, createSentinel, RESP_TYPES } from 'redis'
import { createClient as createClient4 } from 'redis-4'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { behindProxy, newest, tested } from '../test/clients.ts'
import { nodeRedisTransport } from './node-redis-transport.ts'

const token = '0123456789abcdef0123456789abcdef.1700000000000000'
const script = (body: string, ...args: string[]): ScriptCall => ({ command: 'EVAL', body, keys: ['lock:a'], args })
const increment = script("return redis.call('INCR', KEYS[1])", token)
const value = (of: unknown, resent = false): ScriptReply => ({ type: 'value', value: of, resent })
const never = new AbortController().signal
const run = async (transport: RedisTransport, call: ScriptCall, signal = never): Promise<ScriptReply | undefined> =>
  (await transport.run([call], callUntil(signal)))[0]

/** What has left this process when a transport hands over what belongs in the next write. */
async function writtenBeforeNext(transport: RedisTransport): Promise<string> {
  await run(transport, increment)
  const write = vi.spyOn(Socket.prototype, 'write')
  onTestFinished(() => write.mockRestore())
  const first = run(transport, script('return 1', 'first'))
  let written = ''
  const second = new Promise((resolve) => {
    transport.inNextWrite?.(() => {
      // A corked socket has not sent what it was given.
      written = write.mock.calls
        .filter((_, call) => !(write.mock.contexts[call] as Socket).writableCorked)
        .map(([data]) => String(data))
        .join('')
      resolve(run(transport, script('return 2', 'second')))
    })
  })
  expect(await Promise.all([first, second])).toEqual([value(1), value(2)])
  return written
}

describe('nodeRedisTransport over a Sentinel client', () => {
  it('hands over what belongs in the next write only when everything before has been written', async () => {
    const set = await startRedisSentinel({ replicas: 0, sentinels: 1 })
    onTestFinished(() => set.stop())
    const sentinelRootNodes = set.sentinels.map(({ host, port }) => ({ host, port }))
    const client = createSentinel({ name: set.name, sentinelRootNodes })
    onTestFinished(() => client.destroy())
    await client.connect()
    expect(await writtenBeforeNext(nodeRedisTransport(client))).toContain('first')
  })
})

describe.each(tested)('nodeRedisTransport over $name', ({ name, create }) => {
  const network = behindProxy(create)
  const { connect, idle } = network

  it('answers several calls in order, each with its own reply or error', async () => {
    const transport = nodeRedisTransport(connect())
    expect(transport).toMatchObject({ cluster: false, commandDeadlineMs: 2_000 })
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

  it('hands over what belongs in the next write only when everything before has been written', async () => {
    expect(await writtenBeforeNext(nodeRedisTransport(connect()))).toContain('first')
  })

  it('does not know what became of a request whose connection was lost, shows no argument, and sends it once', async () => {
    const transport = nodeRedisTransport(connect())
    await run(transport, script('return 1'))
    const dropped = network.proxy.dropNextReply('cut')
    const lost = transport.run([increment, increment], callUntil(never))
    await dropped
    for (const reply of await lost) expect(reply).toMatchObject({ type: 'unknown', executed: 'unknown' })
    expect(await run(transport, increment)).toEqual(value(3))
    expect(inspect(await lost, { depth: 10, showHidden: true })).not.toContain(token)
    expect(JSON.stringify(await lost)).not.toContain(token)
  })

  it('stops waiting for an answer when it is aborted', async () => {
    const transport = nodeRedisTransport(connect())
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

  it('never sends what the client still has in its queue when its caller gives up', async () => {
    const client = connect()
    const transport = nodeRedisTransport(client)
    await run(transport, script('return 1'))
    network.proxy.delay(100, 'toServer')
    // More than the socket takes at once: the client queues what follows, except for one command at most.
    const large = client.sendCommand(['SET', 'large', 'x'.repeat(8_000_000)])
    await new Promise((resolve) => setImmediate(resolve))
    const controller = new AbortController()
    const replies = transport.run(Array(9).fill(increment), callUntil(controller.signal))
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    for (const reply of await replies) expect(reply).toMatchObject({ type: 'unknown' })
    await large
    expect(Number(((await run(transport, increment)) as { value?: unknown }).value)).toBeLessThanOrEqual(2)
  })

  describe('on a connection on which a thousand calls were given up', () => {
    const giveUp = async (transport: RedisTransport, times: number): Promise<void> => {
      const controller = new AbortController()
      const given = Array.from({ length: times }, () => run(transport, increment, controller.signal))
      await new Promise((resolve) => setImmediate(resolve))
      controller.abort()
      for (const reply of await Promise.all(given)) expect(reply).toMatchObject({ executed: 'unknown' })
    }
    /** Repeats a call until it is sent, as a caller does who learns that it was not. */
    const asksAgain = async (transport: RedisTransport): Promise<ScriptReply | undefined> => {
      for (;;) {
        const reply = await run(transport, increment)
        if (reply?.type !== 'unknown') return reply
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

    it('holds calls back once it has been silent for long, but one each half second, until it answers', async () => {
      const transport = nodeRedisTransport(connect())
      await run(transport, script('return 1'))
      const release = network.proxy.holdReplies()
      await giveUp(transport, 1_000)
      timeIs(2_001)
      expect(await run(transport, increment)).toMatchObject({ executed: 'no', cause: expect.any(Error) })
      timeIs(2_501)
      const controller = new AbortController()
      const replies = transport.run([increment, increment], callUntil(controller.signal))
      controller.abort()
      expect(await replies).toMatchObject([{ executed: 'unknown' }, { executed: 'no' }])
      release()
      expect(await asksAgain(transport)).toMatchObject({ type: 'value' })
    })

    it('holds back calls that wait for replicas, too, with what would be sent behind them', async () => {
      const client = connect()
      const transport = nodeRedisTransport(client)
      await run(transport, script('return 1'))
      const confirmed = replicaWaitOf(transport) as ConfirmedRun
      // Answered at once: there is no replica.
      const waits = { replicas: 0, timeoutMs: 1 }
      const release = network.proxy.holdReplies()
      const controller = new AbortController()
      const given = Array.from({ length: 1_000 }, () => confirmed([increment], waits, callUntil(controller.signal)))
      await new Promise((resolve) => setImmediate(resolve))
      // Node warns of more than ten listeners.
      expect(client.listenerCount('reconnecting')).toBe(1)
      controller.abort()
      for (const [each] of await Promise.all(given)) expect(each).toMatchObject({ reply: { executed: 'unknown' } })
      timeIs(2_001)
      const send = vi.spyOn(client, 'sendCommand')
      expect(await confirmed([increment], waits, callUntil(never))).toMatchObject([{ reply: { executed: 'no' } }])
      expect(send).not.toHaveBeenCalled()
      release()
      await expect.poll(() => client.listenerCount('reconnecting')).toBe(0)
    })

    it('sends on the connection that took its place', async () => {
      // With the timeout, node-redis 5 recovers from having written a command to a socket that it had already lost.
      const transport = nodeRedisTransport(connect({ socket: { socketTimeout: 500 } }))
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
      const transport = nodeRedisTransport(connect())
      await run(transport, script('return 1'))
      await giveUp(transport, 5_000)
      expect(await run(transport, increment)).toMatchObject({ type: 'value' })
      await giveUp(transport, 999)
      timeIs(60_000)
      expect(await run(transport, increment)).toMatchObject({ type: 'value' })
    })
  })

  it('gets out of a connection that has died without a word if the client has a socketTimeout', async () => {
    const client = connect({ socket: { socketTimeout: 500 } })
    const transport = nodeRedisTransport(client)
    await run(transport, script('return 1'))
    const dead = network.proxy.dropNextReply('silence')
    const reply = run(transport, increment)
    await dead
    // Version 4 has no such option.
    if (name === 'node-redis 4') network.proxy.cut()
    expect(await reply).toMatchObject({ type: 'unknown', executed: 'unknown' })
    expect(await run(transport, increment)).toEqual(value(2))
  })

  it('waits for a client that nobody has asked to connect, and leaves that to its owner', async () => {
    const client = idle()
    const transport = nodeRedisTransport(client)
    const replies = [run(transport, increment), run(transport, increment)]
    expect(client.isOpen).toBe(false)
    await client.connect()
    expect(await Promise.all(replies)).toEqual([value(1), value(2)])
    const forgotten = new AbortController()
    const reply = run(nodeRedisTransport(idle()), increment, forgotten.signal)
    forgotten.abort()
    expect(await reply).toMatchObject({ executed: 'no', cause: { message: expect.stringContaining('connect()') } })
  })

  it('needs no offline queue of the client', async () => {
    const client = connect({ disableOfflineQueue: true })
    const transport = nodeRedisTransport(client)
    expect(await run(transport, increment)).toEqual(value(1))
    const lost = new Promise((resolve) => client.once('error', resolve))
    network.proxy.cut()
    await lost
    expect(await run(transport, increment)).toEqual(value(2))
  })

  it('says that nothing was sent when the client’s queue is full', async () => {
    const transport = nodeRedisTransport(connect({ commandsQueueMaxLength: 10 }))
    await run(transport, script('return 1'))
    const replies = await transport.run(Array(12).fill(increment), callUntil(never))
    expect(replies[9]).toEqual(value(10))
    expect(replies[10]).toMatchObject({ executed: 'no', cause: { message: 'The queue is full' } })
  })

  it('waits for a connection, and sends then', async () => {
    network.proxy.refuse()
    const transport = nodeRedisTransport(connect())
    const reply = run(transport, increment)
    await network.proxy.accept()
    expect(await reply).toEqual(value(1))
  })

  it('never sends what was aborted while it waited for a connection', async () => {
    network.proxy.refuse()
    const transport = nodeRedisTransport(connect())
    const controller = new AbortController()
    const reply = run(transport, increment, controller.signal)
    controller.abort()
    expect(await reply).toMatchObject({ type: 'unknown', executed: 'no', cause: expect.any(Error) })
    expect(await run(transport, increment, controller.signal)).toMatchObject({ executed: 'no' })
    await network.proxy.accept()
    expect(await run(transport, increment)).toEqual(value(1))
  })

  it('says that nothing was sent to a call that waits for a client which is closed then, or was before', async () => {
    const client = connect()
    const transport = nodeRedisTransport(client)
    expect(await run(transport, increment)).toEqual(value(1))
    const lost = new Promise((resolve) => client.once('error', resolve))
    network.proxy.refuse()
    network.proxy.cut()
    await lost
    const waiting = transport.whenReady('lock:a', callUntil(never))
    await (client.destroy ? client.destroy() : client.disconnect())
    const notSent = { type: 'unknown', executed: 'no', cause: expect.any(Error) }
    expect(await waiting).toEqual(notSent)
    expect(await transport.whenReady('lock:a', callUntil(never))).toEqual(notSent)
    expect(await run(transport, increment)).toEqual(notSent)
    await network.proxy.accept()
  })

  it('leaves no listener after a thousand calls of twenty stores to a closed port, and needs one while they wait', async () => {
    network.proxy.refuse()
    const client = connect({ socket: { reconnectStrategy: 60_000 } })
    await new Promise((resolve) => client.once('error', resolve))
    const heard = ['ready', 'end', 'error'] as const
    const counts = (): number[] => heard.map((event) => client.listenerCount(event))
    const before = counts()
    const warnings: Error[] = []
    const onWarning = (warning: Error): number => warnings.push(warning)
    process.on('warning', onWarning)
    const controller = new AbortController()
    const transports = Array.from({ length: 20 }, () => nodeRedisTransport(client))
    const replies = Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        run(transports[index % 20] as RedisTransport, increment, controller.signal),
      ),
    )
    expect(counts()).toEqual(before.map((listeners) => listeners + 1))
    controller.abort()
    for (const reply of await replies) expect(reply).toMatchObject({ type: 'unknown', executed: 'no' })
    expect(counts()).toEqual(before)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })

  it('a user without a listener hears what he listens for later', async () => {
    network.proxy.refuse()
    const client = network.unwatched()
    const controller = new AbortController()
    const waiting = run(nodeRedisTransport(client), increment, controller.signal)
    controller.abort()
    await waiting
    const heard = new Promise((resolve) => client.once('error', resolve))
    client.on('error', () => undefined)
    client.connect().catch(() => undefined)
    expect(await heard).toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('changes no option, and nothing that others do with the client', async () => {
    const client = idle()
    await client.connect()
    const before = inspect(client.options)
    await run(nodeRedisTransport(client), increment)
    expect(inspect(client.options)).toBe(before)
    expect(await client.ping()).toBe('PONG')
  })
})

describe('nodeRedisTransport', () => {
  const network = behindProxy(newest.create)

  it('has no timer for each command, and no mapping of types, whatever the client has', async () => {
    const timer = vi.spyOn(AbortSignal, 'timeout')
    const client = newest.create({
      socket: { port: network.redis.port },
      commandOptions: {
        timeout: 60_000,
        typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.NUMBER]: String },
      },
    })
    client.on('error', () => undefined)
    await client.connect()
    timer.mockClear()
    expect(await run(nodeRedisTransport(client), script("return {1, '2'}"))).toEqual(value([1, '2']))
    expect(timer).not.toHaveBeenCalled()
    // The user's own commands have the timer.
    await client.ping()
    expect(timer).toHaveBeenCalledOnce()
    timer.mockRestore()
    client.destroy?.()
  })

  it('refuses what is no such client, and one whose commands mean something else, by name', () => {
    const refused = expect.objectContaining({ code: 'INVALID_OPTION', option: 'client' })
    for (const other of [undefined, null, {}, { sendCommand: () => undefined }, createClientPool()]) {
      expect(() => nodeRedisTransport(other as never)).toThrow(refused)
    }
    expect(() => nodeRedisTransport(createClient4({ legacyMode: true }))).toThrow(refused)
    expect(() => nodeRedisTransport(newest.create({ keyPrefix: 'app:' }))).toThrow(
      expect.objectContaining({ option: 'client', message: expect.stringContaining('"prefix"') }),
    )
  })

  it('does not repeat the arguments that a server quotes', async () => {
    await using redis = await startRedis({ args: ['--rename-command', 'EVALSHA', ''] })
    const client = newest.create({ socket: { port: redis.port } })
    client.on('error', () => undefined)
    await client.connect()
    const call: ScriptCall = { command: 'EVALSHA', body: 'f'.repeat(40), keys: ['lock:a'], args: [token] }
    const replies = await nodeRedisTransport(client).run([call], callUntil(never))
    client.destroy?.()
    expect(replies).toEqual([{ type: 'error', message: "ERR unknown command 'EVALSHA'" }])
  })
})
