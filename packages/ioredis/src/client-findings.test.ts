import { check } from '@leasehold/core/check'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClientOptions, clients } from '../test/clients.ts'
import { ioredisBackend } from './ioredis-backend.ts'

/* What `check` reports over each client. What it reports about servers is tested over one of them, in `test/check`. */

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

describe.each(clients)('over $name', ({ create }) => {
  const codes = async (options: ClientOptions = {}): Promise<readonly string[]> => {
    const client = create({ port: server.port, ...options })
    client.on('error', () => undefined)
    const backend = ioredisBackend(client)
    try {
      return (await check(backend)).findings.map(({ severity, code }) => `${severity} ${code}`)
    } finally {
      await backend.notifier.close()
      client.disconnect()
    }
  }

  it('the server is asked past scripts, and risky options are told until they are set', async () => {
    const careful: ClientOptions = { socketTimeout: 5_000, reconnectOnError: () => false }
    expect(await codes(careful)).toEqual(['warning NO_PERSISTENCE'])
    expect(await codes()).toEqual([
      'warning NO_PERSISTENCE',
      'info CLIENT_NO_SOCKET_TIMEOUT',
      'info CLIENT_STAYS_ON_REPLICA',
    ])
  })
})
