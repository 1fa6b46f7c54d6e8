import { createLocker, type Lease, type Locker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { quiet } from '../support/quiet.ts'
import { scriptCalls } from '../support/ways.ts'

/*
 * A command is closed when it is written, after the client is ready. Until then calls join it, and abandoned calls are
 * taken out.
 */

let server: RedisServer
let proxy: TcpProxy
let client: Redis
let locks: Locker
beforeAll(async () => {
  server = await startRedis()
  // The server has to know the scripts: the counted commands do not carry their text.
  await using knowing = connect(server.port)
  await (await knowing.locks.acquire('warm-up')).release()
})
afterAll(() => server.stop())
beforeEach(async () => {
  await server.command('FLUSHALL')
  proxy = await startTcpProxy({ port: server.port })
})
afterEach(async () => {
  await locks.close({ grace: 0 })
  client.disconnect()
  await proxy.stop()
})

function connect(port: number, options: { autoResendUnfulfilledCommands?: boolean } = {}) {
  client = quiet(new Redis(port, { retryStrategy: () => 20, ...options }))
  locks = createLocker({ store: ioredisStore(client) })
  return {
    locks,
    async [Symbol.asyncDispose]() {
      await locks.close({ grace: 0 })
      client.disconnect()
    },
  }
}
const keys = (count: number, prefix = 'k'): string[] => Array.from({ length: count }, (_, index) => `${prefix}${index}`)
const acquireAll = (wanted: readonly string[]): Promise<Lease[]> => Promise.all(wanted.map((key) => locks.acquire(key)))
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
/** The locks under a prefix, or the records that first grants leave. */
const traces = async (prefix: string): Promise<unknown> => await server.command('KEYS', `*lock:${prefix}*`)

/** Ways for a client to be without a connection for the time being. */
const states: readonly (readonly [string, () => Promise<void>])[] = [
  [
    'that has not connected yet',
    async () => {
      proxy.refuse()
      connect(proxy.port)
    },
  ],
  [
    'that has lost its connection',
    async () => {
      connect(proxy.port)
      await locks.isLocked('warm-up')
      const closed = new Promise((resolve) => client.once('close', resolve))
      proxy.refuse()
      proxy.cut()
      await closed
    },
  ],
]

describe.each(states)('through a client %s', (_, begin) => {
  beforeEach(begin)

  it('100 acquires leave in 2 commands once it is ready', async () => {
    const before = await scriptCalls(server)
    const acquiring = acquireAll(keys(100))
    await proxy.accept()
    const leases = await acquiring
    expect((await scriptCalls(server)) - before).toBe(2)
    expect(leases.every((lease) => lease.commands === 1 && lease.remaining() > 0)).toBe(true)
  })

  it('a call that was given up by then is not sent, and rejects with its own reason', async () => {
    const before = await scriptCalls(server)
    const leaving = keys(10, 'gone').map((key) => {
      const stop = new AbortController()
      return { stop, acquiring: locks.acquire(key, { signal: stop.signal }).catch((error: unknown) => error) }
    })
    const staying = acquireAll(keys(54))
    // The turn is over, and with a connection all calls would have left.
    await nextTurn()
    for (const [which, { stop }] of leaving.entries()) stop.abort(`reason ${which}`)
    expect(await Promise.all(leaving.map(({ acquiring }) => acquiring))).toEqual(
      leaving.map((_, which) => `reason ${which}`),
    )
    await proxy.accept()
    await staying
    expect((await scriptCalls(server)) - before).toBe(2)
    // A request sent after them has been answered.
    await (await locks.acquire('after')).release()
    expect(await traces('gone')).toEqual([])
  })

  it('a call whose wait ends before that was certainly not sent', async () => {
    const late = keys(10, 'late').map((key) => locks.acquire(key, { wait: '100ms' }).catch((error: unknown) => error))
    const patient = acquireAll(keys(20))
    for (const [which, error] of (await Promise.all(late)).entries()) {
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'no', key: `late${which}` })
    }
    await proxy.accept()
    await patient
    await (await locks.acquire('after')).release()
    expect(await traces('late')).toEqual([])
  })
})

describe('a shared command whose reply is lost', () => {
  async function loseReply(options: Parameters<typeof connect>[1]): Promise<Lease[]> {
    connect(proxy.port, options)
    await locks.isLocked('warm-up')
    const lost = proxy.dropNextReply('cut')
    const acquiring = acquireAll(keys(50))
    await lost
    return acquiring
  }

  it.each<readonly [string, Parameters<typeof connect>[1], number]>([
    ['and that the client sends again', {}, 1],
    ['and that the client does not send again', { autoResendUnfulfilledCommands: false }, 2],
  ])('%s grants each of 50 exactly one lease', async (_, options, commands) => {
    const leases = await loseReply(options)
    expect(leases.map((lease) => lease.commands)).toEqual(leases.map(() => commands))
    const stored = await server.command('MGET', ...leases.map(({ key }) => `lock:${key}`))
    expect(stored).toEqual(leases.map(({ token }) => token))
    for (const lease of leases) expect(await lease.release()).toBe('released')
    expect(await server.command('KEYS', 'lock:*')).toEqual([])
  })

  it('gives 50 leases back all the same', async () => {
    connect(proxy.port)
    const leases = await acquireAll(keys(50))
    const lost = proxy.dropNextReply('cut')
    const releasing = Promise.all(leases.map((lease) => lease.release()))
    await lost
    expect(new Set(await releasing)).toEqual(new Set(['released']))
    expect(await server.command('KEYS', 'lock:*')).toEqual([])
  })
})
