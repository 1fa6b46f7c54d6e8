import { createLocker } from '@leasehold/core'
import { ManualClock } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { clients } from '../test/clients.ts'
import { ioredisBackend } from './ioredis-backend.ts'
import { ioredisNotifier } from './ioredis-notifier.ts'
import { ioredisStore } from './ioredis-store.ts'

let server: RedisServer
const open: Redis[] = []
beforeAll(async () => {
  server = await startRedis()
})
afterEach(() => {
  for (const client of open.splice(0)) client.disconnect()
})
afterAll(() => server.stop())

function connect(): Redis {
  const client = new Redis(server.port, { lazyConnect: true })
  open.push(client)
  return client
}
const refused = (option: string): unknown => expect.objectContaining({ code: 'INVALID_OPTION', option })

describe.each(clients)('ioredisBackend over $name', ({ create }) => {
  it('gives a locker its store and notifier under one prefix, and a name that whoever reads the lock sees', async () => {
    const client = create({ port: server.port })
    const locks = createLocker({ ...ioredisBackend(client, { prefix: 'shop:' }), recheck: '1h' })
    try {
      const held = await locks.acquire('k')
      const own = `-${process.pid}`
      expect(await locks.inspect('k')).toMatchObject({ holder: expect.stringMatching(`${own}$`) })
      expect(await server.command('GET', 'shop:k')).toContain(`${own}.`)
      const other = createLocker({ ...ioredisBackend(client, { prefix: 'shop:', name: 'orders-7' }), recheck: '1h' })
      // Only the notifier can tell it within its time.
      const next = other.acquire('k', { wait: '20s' })
      await expect.poll(() => server.command('PUBSUB', 'NUMSUB', 'shop:release:k')).toEqual(['shop:release:k', 1])
      await held.release()
      await next
      expect(await locks.inspect('k')).toMatchObject({ holder: 'orders-7' })
      await other.close({ grace: 0 })
    } finally {
      await locks.close({ grace: 0 })
      client.disconnect()
    }
  })
})

describe('ioredisBackend', () => {
  it('does no I/O before the first call', () => {
    const client = connect()
    createLocker({ ...ioredisBackend(client) })
    expect(client.status).toBe('wait')
  })

  it('gives way to a name of the locker itself', async () => {
    const locks = createLocker({ ...ioredisBackend(connect(), { name: 'of-the-backend' }), name: 'of-the-locker' })
    await locks.acquire('named')
    expect(await locks.inspect('named')).toMatchObject({ holder: 'of-the-locker' })
    await locks.close({ grace: 0 })
  })

  it('hands each option to its part', async () => {
    const client = connect()
    const { store, notifier } = ioredisBackend(client, { prefix: 'p:', fenceMemory: '1m', mode: 'pattern' })
    expect([store.prefix, notifier.prefix]).toEqual(['p:', 'p:'])
    await notifier.subscribe('k', '-').ready
    expect(await server.command('PUBSUB', 'NUMPAT')).toBe(1)
    await notifier.close()
    const locks = createLocker({ store })
    await (await locks.acquire('k', { ttl: '1s' })).release()
    const memoryMs = Number(await server.command('PTTL', '{p:k}:fence'))
    expect(memoryMs).toBeGreaterThan(50_000)
    expect(memoryMs).toBeLessThanOrEqual(60_000)
  })

  it('takes undefined for every option, as if it were left out', () => {
    const options = { prefix: undefined, fenceMemory: undefined, mode: undefined, name: undefined, clock: undefined }
    const { store, notifier, name } = ioredisBackend(connect(), options)
    expect([store.prefix, notifier.prefix]).toEqual(['lock:', 'lock:'])
    expect(name).toBe(ioredisBackend(connect()).name)
    ioredisStore(connect(), { prefix: undefined, fenceMemory: undefined })
    ioredisNotifier(connect(), { prefix: undefined, mode: undefined, clock: undefined })
    ioredisNotifier(connect(), { clock: new ManualClock() })
  })

  it.each([
    ['prefix', ''],
    ['prefix', '{lock}:'],
    ['fenceMemory', 'soon'],
    ['mode', 'patern'],
    ['keyPrefix', 'lock:'],
  ])('refuses the option %s: %j by name', (option, value) => {
    expect(() => ioredisBackend(connect(), { [option]: value } as never)).toThrow(refused(option))
  })

  it('refuses options that its parts do not have, on these, too', () => {
    expect(() => ioredisStore(connect(), { mode: 'pattern' } as never)).toThrow(refused('mode'))
    expect(() => ioredisNotifier(connect(), { fenceMemory: '1h' } as never)).toThrow(refused('fenceMemory'))
    expect(() => ioredisNotifier(connect(), { mode: 'patern' } as never)).toThrow(refused('mode'))
    expect(() => ioredisBackend(connect(), 'lock:' as never)).toThrow(refused('options'))
  })

  it.each(['', 'two words', 'n'.repeat(65)])('a locker refuses it with the name %j', (name) => {
    expect(() => createLocker(ioredisBackend(connect(), { name }))).toThrow(refused('name'))
  })

  it('a locker refuses parts of two backends with different prefixes', () => {
    const [shop, other] = [ioredisBackend(connect(), { prefix: 'shop:' }), ioredisBackend(connect())]
    expect(() => createLocker({ ...shop, notifier: other.notifier })).toThrow(refused('notifier'))
    createLocker({ ...shop, notifier: ioredisBackend(connect(), { prefix: 'shop:' }).notifier })
  })

  it('refuses a client that renames keys', () => {
    expect(() => ioredisBackend(new Redis({ lazyConnect: true, keyPrefix: 'app:' }))).toThrow(refused('client'))
  })
})
