import { createLocker } from '@leasehold/core'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { backendClaims } from '../../../test/support/backend-claims.ts'
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
  let client: ReturnType<typeof create>
  beforeAll(() => {
    client = create({ port: server.port })
  })
  afterAll(() => client.disconnect())
  backendClaims<ReturnType<typeof create>>({
    server: () => server,
    client: () => client,
    backend: ioredisBackend,
    store: ioredisStore,
    notifier: ioredisNotifier,
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
