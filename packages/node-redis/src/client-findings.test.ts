import { type CheckReport, check } from '@leasehold/core/check'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClientOptions, clients, close } from '../test/clients.ts'
import { nodeRedisBackend } from './node-redis-backend.ts'

/* What `check` reports over this client. What it reports about servers is tested over ioredis, in `test/check`. */

let server: RedisServer
beforeAll(async () => {
  server = await startRedis({ args: ['--appendonly', 'yes'] })
  await server.command('ACL', 'SETUSER', 'shop', 'on', '>password', '~*', '&*', '+@all', '-publish', '-subscribe')
})
afterAll(() => server.stop())

const quick = { socketTimeout: 10_000 }

describe.each(clients)('over $name', ({ create }) => {
  async function report(options: ClientOptions = {}): Promise<CheckReport> {
    const { socket, ...more } = options
    const client = create({ socket: { port: server.port, ...quick, ...socket }, pingInterval: 3_000, ...more })
    client.on('error', () => undefined)
    client.connect().catch(() => undefined)
    const backend = nodeRedisBackend(client)
    try {
      return await check(backend)
    } finally {
      await backend.notifier.close()
      await close(client)
    }
  }
  const codes = async (options?: ClientOptions): Promise<readonly string[]> =>
    (await report(options)).findings.map(({ severity, code }) => `${severity} ${code}`)

  it('a server for locks has no findings, and its facts are there', async () => {
    const { findings, facts } = await report()
    expect(findings).toEqual([])
    expect(facts).toMatchObject({
      nodes: [{ report: { role: 'primary' } }],
      ping: { rounds: 5 },
      wakeUp: { rounds: 1 },
    })
  })

  it('what the user may not do is told, and that it is not let in', async () => {
    const user = { username: 'shop', password: 'password' }
    expect(await codes(user)).toEqual(['warning PUBLISH_FORBIDDEN', 'warning LISTEN_FORBIDDEN'])
    expect(await codes({ ...user, password: 'wrong' })).toEqual(['error LOGIN_REFUSED'])
  })

  it('that the server keeps no snapshots is asked past scripts', async () => {
    await server.command('CONFIG', 'SET', 'appendonly', 'no')
    expect(await codes()).toEqual(['warning NO_PERSISTENCE'])
    await server.command('CONFIG', 'SET', 'appendonly', 'yes')
  })

  it('risky options are told', async () => {
    expect(await codes({ pingInterval: 0, commandsQueueMaxLength: 100, socket: { reconnectStrategy: false } })).toEqual(
      ['warning CLIENT_NEVER_RECONNECTS', 'info CLIENT_QUEUE_LIMIT', 'info CLIENT_NO_SOCKET_TIMEOUT'],
    )
  })
})
