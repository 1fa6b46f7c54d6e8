import { bridgeNotifier } from '@leasehold/bridge-client'
import { createLocker, type Locker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { type HttpProxy, startHttpProxy, startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { type BridgeProgram, startBridgeProgram } from '../../packages/bridge/test/program.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, eventually, limit, ms } from '../support/scale.ts'
import { type BridgeAccess, startWorker } from './worker.ts'

/*
 * The bridge's process is killed while a waiter uses it, and restarted on its port. Every command of the waiter goes
 * over HTTP, and is counted on its way; so are its connections to the bridge.
 */

const downMs = ms(15_000, 3_000)
/**
 * A waiter that checks by itself does so at least every second, so no check in this time means that it relies on the
 * bridge.
 */
const quietMs = 1_200

/** The outcome of a take: how many commands it took, or why it failed. */
interface Taken {
  readonly commands?: number
  readonly code?: string
}
/** Takes the lock, with a wait of a minute, and releases it. */
type Take = (key: string) => Promise<Taken>

/** What each test has of its own: they run side by side, and kill their bridges at any time. */
interface Servers {
  readonly stack: AsyncDisposableStack
  readonly bridge: BridgeProgram
  /** Stands between the waiter and its store. */
  readonly commands: HttpProxy
  /** Stands between the waiter and the bridge. */
  readonly way: TcpProxy
  readonly holders: Locker
}

async function serve(): Promise<Servers> {
  const stack = new AsyncDisposableStack()
  const gateway = stack.use(await startTestGateway())
  const bridge = stack.use(await startBridgeProgram(gateway.server.url))
  const commands = stack.use(await startHttpProxy({ target: gateway.url }))
  const way = stack.use(await startTcpProxy({ port: bridge.port }))
  const redis = quiet(new Redis(gateway.server.url))
  stack.defer(() => redis.disconnect())
  const holders = createLocker({ store: ioredisStore(redis), ttl: '5m', renew: false })
  return { stack, bridge, commands, way, holders }
}

async function inNode({ stack, commands }: Servers, access: BridgeAccess): Promise<Take> {
  const store = fetchStore({ url: commands.url, token })
  const locks = createLocker({ store, notifier: bridgeNotifier(access), wait: '60s', recheck: '5m' })
  stack.defer(() => locks.close())
  return (key) => locks.withLock(key, async (lease) => ({ commands: lease.commands }))
}

async function inWorkerd({ stack, commands }: Servers, bridge: BridgeAccess): Promise<Take> {
  const worker = await startWorker({ entry: 'contender.ts', gateway: { url: commands.url, token }, bridge })
  stack.use(worker)
  return async (key) => (await worker.ask(`/take?key=${key}&wait=60000`)).body as Taken
}

const inTurn = { concurrent: false, timeout: 90_000 }

describe.concurrent.each([
  ['Node, by an event stream', inNode, 'sse'],
  ['Node, by long polls', inNode, 'long-poll'],
  ['workerd, by an event stream', inWorkerd, 'sse'],
  ['workerd, by long polls', inWorkerd, 'long-poll'],
] as const)('in %s, when the bridge is killed', (name, start, mode) => {
  const key = name.replace(/\W+/g, '-')
  let servers: Servers
  let take: Take
  beforeAll(async () => {
    servers = await serve()
    const { bridge, way } = servers
    take = await start(servers, { url: `http://127.0.0.1:${way.port}`, token: bridge.token, mode })
  })
  afterAll(() => servers?.stack.disposeAsync())

  const sent = (): number => Object.values(servers.commands.requests).reduce((sum, count) => sum + count, 0)
  const listened = (): Promise<void> => {
    const open = mode === 'sse' ? 'leasehold_bridge_streams' : 'leasehold_bridge_waits'
    return eventually(async () => (await servers.bridge.metric(open)) === 1)
  }
  /** Resolves once no command has been sent for a while. */
  const relied = (): Promise<void> =>
    eventually(async () => {
      const before = sent()
      await elapse(quietMs)
      return sent() === before
    })

  test(
    'a waiter checks for itself, without hurry; once the bridge is back, it relies on that and is woken',
    inTurn,
    async () => {
      const { bridge, way, holders } = servers
      const held = await holders.acquire(key)
      const taking = take(key)
      await listened()
      await relied()
      const before = { sent: sent(), connections: way.accepted }
      await bridge.kill()
      const killedAt = performance.now()
      await elapse(downMs)
      const downForMs = performance.now() - killedAt
      const down = { sent: sent() - before.sent, connections: way.accepted - before.connections }
      await bridge.restart()
      await listened()
      await relied()
      const atRelease = sent()
      const releasedAt = performance.now()
      await held.release()
      const taken = await taking
      const wokenMs = performance.now() - releasedAt
      console.log(
        `${name}: ${down.sent} commands and ${down.connections} connections in ${downMs} ms without a bridge, ` +
          `${taken.commands} commands in all, woken in ${wokenMs.toFixed()} ms`,
      )
      // Every 10 ms doubling to a second, of which up to half is random.
      expect(down.sent).toBeGreaterThanOrEqual(2)
      expect(down.sent).toBeLessThan(10 + downForMs / 500)
      expect(down.connections).toBeGreaterThanOrEqual(1)
      expect(down.connections).toBeLessThan(10 + downForMs / 2_500)
      // It took the lock, and released it.
      expect(sent() - atRelease).toBe(2)
      expect(wokenMs).toBeLessThan(limit(1_000))
    },
  )

  test('a waiter takes a lock that is released meanwhile', inTurn, async () => {
    const { bridge, holders } = servers
    const held = await holders.acquire(key)
    const taking = take(key)
    await listened()
    await bridge.kill()
    await held.release()
    const releasedAt = performance.now()
    const taken = await taking
    expect(performance.now() - releasedAt).toBeLessThan(limit(3_000))
    expect(taken.commands).toBeLessThan(15)
    await bridge.restart()
  })
})
