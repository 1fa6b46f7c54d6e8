import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectRedisAdmin } from './redis-admin.ts'
import { type RedisServer, startRedis } from './redis-server.ts'

describe('connectRedisAdmin', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.stop())

  it('answers each command its own reply, also when several are under way', async () => {
    await using admin = await connectRedisAdmin({ port: redis.port })
    const replies = await Promise.all([
      admin.command('SET', 'key', 'value', 'PX', 60_000),
      admin.command('GET', 'key'),
      admin.command('MGET', 'key', 'missing'),
      admin.command('DEL', 'key'),
    ])
    expect(replies).toEqual(['OK', 'value', ['value', null], 1])
  })

  it('hands over what the server sends unasked', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    await using subscriber = await connectRedisAdmin({ port: redis.port, onMessage: resolve })
    expect(await subscriber.command('SUBSCRIBE', 'news')).toEqual(['subscribe', 'news', 1])
    await redis.command('PUBLISH', 'news', 'all quiet')
    expect(await promise).toEqual(['message', 'news', 'all quiet'])
  })

  it('rejects with the text of the server', async () => {
    await using admin = await connectRedisAdmin({ port: redis.port })
    await expect(admin.command('EVALSHA', 'f'.repeat(40), 0)).rejects.toThrow(/^NOSCRIPT/)
    expect(await admin.command('PING')).toBe('PONG')
  })

  it('rejects everything under way when the connection closes, and everything after it', async () => {
    await using admin = await connectRedisAdmin({ port: redis.port })
    const waiting = admin.command('BLPOP', 'nothing', 0)
    await admin.close()
    await expect(waiting).rejects.toThrow('closed')
    await expect(admin.command('PING')).rejects.toThrow('closed')
  })

  it('does not wait for a silent server beyond its deadline', async () => {
    await using admin = await connectRedisAdmin({ port: redis.port, deadlineMs: 50 })
    redis.pause()
    const waiting = admin.command('PING')
    await expect(waiting)
      .rejects.toThrow('did not answer PING within 50 ms')
      .finally(() => redis.resume())
    await expect(admin.command('PING')).rejects.toThrow()
  })

  it('gives up on something that is not Redis', async () => {
    const server = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    await using admin = await connectRedisAdmin({ port })
    await expect(admin.command('PING')).rejects.toThrow('cannot begin with "H"')
    server.close()
  })

  it('rejects when nobody listens', async () => {
    await using gone = await startRedis()
    await gone.kill()
    await expect(connectRedisAdmin({ port: gone.port })).rejects.toThrow('ECONNREFUSED')
  })
})
