import { inspect } from 'node:util'
import { createLocker } from '@leasehold/core'
import type { ScriptCall, ScriptReply } from '@leasehold/core/redis'
import { callUntil } from '@leasehold/testkit'
import { type RedisCluster, startRedis, startRedisCluster } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { behindProxy, close, tested } from '../test/clients.ts'
import { testedClusters } from '../test/clusters.ts'
import type { NodeRedisClient } from './node-redis-client.ts'
import { nodeRedisStore } from './node-redis-store.ts'
import { nodeRedisTransport } from './node-redis-transport.ts'

// Connections that do not come about: what is told of why, and when.

const never = new AbortController().signal
const increment: ScriptCall = {
  command: 'EVAL',
  body: "return redis.call('INCR', KEYS[1])",
  keys: ['lock:a'],
  args: [],
}
const run = async (client: NodeRedisClient, signal = never): Promise<ScriptReply | undefined> =>
  (await nodeRedisTransport(client).run([increment], callUntil(signal)))[0]

const right = 'the-right-password'
const wrong = 'the-wrong-password'

describe.each(tested)('over $name', ({ create }) => {
  const network = behindProxy(create)
  const { connect } = network
  beforeEach(async () => {
    await network.redis.command('ACL', 'SETUSER', 'lock', 'reset', 'on', `>${right}`, '~*', '&*', '+@all')
  })

  it('a wrong password ends an acquire at once, with the server’s words as the cause', async () => {
    const client = connect({ username: 'lock', password: wrong })
    const locks = createLocker({ store: nodeRedisStore(client) })
    // Longer than this test may take.
    const error = await locks.acquire('a', { wait: '10m' }).catch((e: unknown) => e)
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      executed: 'no',
      cause: { message: expect.stringMatching(/^WRONGPASS/) },
    })
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(wrong)
    await locks.close()
  })

  it('a call that waits until the client is ready is told the server’s words, and no listener is left', async () => {
    const client = connect({ username: 'lock', password: wrong })
    const before = client.listenerCount('error')
    const transport = nodeRedisTransport(client)
    const waits = [1, 2].map(() => transport.whenReady('lock:a', callUntil(never)))
    expect(client.listenerCount('error')).toBe(before + 1)
    expect(await Promise.all(waits)).toEqual(
      waits.map(() => ({ type: 'error', message: expect.stringMatching(/^WRONGPASS/) })),
    )
    expect(client.listenerCount('error')).toBe(before)
  })

  it('a password that the server asks for and the client has not got ends a call at once', async () => {
    await using locked = await startRedis({ args: ['--requirepass', right] })
    const client = connect({ socket: { port: locked.port } })
    expect(await run(client)).toEqual({ type: 'error', message: expect.stringMatching(/^NOAUTH/) })
  })

  it('a user who may not run scripts is told so at once', async () => {
    await network.redis.command('ACL', 'SETUSER', 'lock', '-eval')
    const client = connect({ username: 'lock', password: right })
    expect(await run(client)).toEqual({ type: 'error', message: expect.stringMatching(/^NOPERM/) })
  })

  it('a password that is changed is noticed when the connection is lost, and does no harm once it is right again', async () => {
    const client = connect({ username: 'lock', password: right })
    expect(await run(client)).toMatchObject({ value: 1 })
    await network.redis.command('ACL', 'SETUSER', 'lock', 'resetpass', '>another-password')
    expect(await run(client)).toMatchObject({ value: 2 })
    const lost = new Promise((resolve) => client.once('error', resolve))
    network.proxy.cut()
    await lost
    expect(await run(client)).toEqual({ type: 'error', message: expect.stringMatching(/^WRONGPASS/) })
    const back = new Promise((resolve) => client.once('ready', () => resolve(undefined)))
    await network.redis.command('ACL', 'SETUSER', 'lock', `>${right}`)
    await back
    expect(await run(client)).toMatchObject({ value: 3 })
  })

  it('a call that was not sent has as its cause what the client met with', async () => {
    network.proxy.refuse()
    const client = connect()
    const controller = new AbortController()
    const reply = run(client, controller.signal)
    client.once('error', () => setImmediate(() => controller.abort()))
    expect(await reply).toMatchObject({
      type: 'unknown',
      executed: 'no',
      cause: { message: expect.stringContaining('not connected in time'), cause: { code: 'ECONNREFUSED' } },
    })
    // Once it was connected, that is no reason for what comes.
    await network.proxy.accept()
    const transport = nodeRedisTransport(client)
    expect(await transport.run([increment], callUntil(never))).toMatchObject([{ value: 1 }])
    await close(client)
    const [late] = await transport.run([increment], callUntil(never))
    expect(late).toMatchObject({ executed: 'no', cause: { message: expect.stringContaining('closed') } })
    expect((late as { cause?: Error }).cause?.cause).toBeUndefined()
  })

  it('errors that nobody listens to are thrown by the client, while a call waits as at any time', async () => {
    network.proxy.refuse()
    const thrown = async (client: ReturnType<typeof create>): Promise<unknown> => {
      const threw = new Promise((resolve) => process.once('uncaughtException', resolve))
      const others = process.listeners('uncaughtException').slice(0, -1)
      for (const other of others) process.off('uncaughtException', other as never)
      const rejected = client.connect().catch((error: unknown) => error)
      const error = await Promise.race([threw, rejected])
      for (const other of others) process.on('uncaughtException', other as never)
      return (error as { code?: unknown }).code
    }
    const alone = network.unwatched({ socket: { reconnectStrategy: false } })
    const waitedFor = network.unwatched({ socket: { reconnectStrategy: false } })
    const controller = new AbortController()
    const reply = run(waitedFor, controller.signal)
    expect(await thrown(waitedFor)).toEqual(await thrown(alone))
    controller.abort()
    expect(await reply).toMatchObject({ executed: 'no', cause: { cause: { code: 'ECONNREFUSED' } } })
  })
})

describe.each(testedClusters)('over a cluster client of $name', ({ create }) => {
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await startRedisCluster()
  })
  afterAll(() => cluster.stop())

  it('a wrong password and a user who may not read the slots are told so at once', async () => {
    for (const node of cluster.nodes) {
      await node.command('ACL', 'SETUSER', 'lock', 'reset', 'on', `>${right}`, '~*', '&*', '+@all', '-cluster')
    }
    const rootNodes = cluster.nodes.map(({ host, port }) => ({ socket: { host, port } }))
    for (const [password, words] of [
      [wrong, /^WRONGPASS/],
      [right, /^NOPERM/],
    ] as const) {
      const client = create({ rootNodes, defaults: { username: 'lock', password } })
      client.on('error', () => undefined)
      const reply = run(client)
      client.connect().catch(() => undefined)
      expect(await reply).toEqual({ type: 'error', message: expect.stringMatching(words) })
      await close(client)
    }
  })
})
