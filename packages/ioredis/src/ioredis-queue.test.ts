import { createLocker, type Locker } from '@leasehold/core'
import { fifo, inspectQueue } from '@leasehold/core/queue'
import { startTcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ioredisNotifier } from './ioredis-notifier.ts'
import { ioredisStore } from './ioredis-store.ts'

let server: RedisServer
const open: (() => unknown)[] = []

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

interface Ways {
  /** The port that its subscriber connects to. */
  readonly subscriberPort?: number
  readonly mode?: 'channels' | 'pattern'
  readonly user?: string
  /** Whether it is told of turns; if not, it opens no inbox. */
  readonly told?: boolean
}

function locker({ subscriberPort = server.port, mode = 'channels', user = 'default', told = true }: Ways = {}): Locker {
  const connect = (port: number): Redis => {
    const client = new Redis({ port, username: user, password: user === 'default' ? '' : 'secret' })
    client.on('error', () => undefined)
    open.push(() => client.disconnect())
    return client
  }
  const [commands, subscriber] = [connect(server.port), connect(subscriberPort)]
  const notifier = told ? ioredisNotifier(subscriber, { mode }) : undefined
  const locks = createLocker({ store: ioredisStore(commands), notifier, queue: fifo(), wait: '1m', ttl: '1m' })
  open.push(() => locks.close({ grace: 0 }))
  return locks
}

const inboxes = async (): Promise<unknown[]> => (await server.command('PUBSUB', 'CHANNELS', 'lock:turn:*')) as unknown[]

/** A waiter that has the lock this soon, in milliseconds, was told of its turn: it cannot have found it by looking. */
const soonMs = 500

/** How long after the release of a lock its waiter has it, in milliseconds. */
async function handedOver(
  holder: Locker,
  waiter: Locker,
  key: string,
  meanwhile?: () => Promise<unknown>,
): Promise<number> {
  const held = await holder.acquire(key)
  const acquiring = waiter.acquire(key)
  // Past the look that follows the subscription to its key.
  await new Promise((resolve) => setTimeout(resolve, 300))
  await meanwhile?.()
  const releasedAt = performance.now()
  await held.release()
  await (await acquiring).release()
  return performance.now() - releasedAt
}

describe('a queued waiter', () => {
  it.each(['channels', 'pattern'] as const)('is told of its turn within milliseconds (%s)', async (mode) => {
    const [one, two] = [locker(), locker({ mode })]
    expect(await handedOver(one, two, `told-${mode}`)).toBeLessThan(soonMs)
    await expect.poll(inboxes).toEqual([])
  })

  it('hears of turns again after its connection was lost, and until then finds them by looking', async () => {
    await using proxy = await startTcpProxy({ port: server.port })
    const [one, two] = [locker({ told: false }), locker({ subscriberPort: proxy.port })]
    const cut = async (): Promise<void> => {
      proxy.refuse()
      proxy.cut()
    }
    expect(await handedOver(one, two, 'cut', cut)).toBeLessThan(3_000)
    await proxy.accept()
    expect(
      await handedOver(one, two, 'again', () => expect.poll(async () => (await inboxes()).length).toBe(1)),
    ).toBeLessThan(soonMs)
  })

  it('finds its turn by looking if its user may not subscribe to inboxes', async () => {
    await server.command(
      'ACL',
      'SETUSER',
      'no-turns',
      'on',
      '>secret',
      '~*',
      '+@all',
      'resetchannels',
      '&lock:release:*',
    )
    const [one, two] = [locker(), locker({ user: 'no-turns' })]
    expect(await handedOver(one, two, 'no-turns')).toBeLessThan(3_000)
  })

  it('takes a free lock at once, and finds its turn by looking, while its subscriber hears nothing', async () => {
    await using proxy = await startTcpProxy({ port: server.port })
    proxy.blackHole()
    const [one, two] = [locker(), locker({ subscriberPort: proxy.port })]
    const free = await two.acquire('silent', { wait: 500 })
    expect(free).toMatchObject({ commands: 1 })
    await free.release()
    const held = await one.acquire('silent')
    const acquiring = two.acquire('silent', { wait: 4_000 })
    await expect.poll(async () => (await inspectQueue(one, 'silent')).waiting).toBe(1)
    await held.release()
    await (await acquiring).release()
  })

  it('sends the text of a script once, though many call it at the same time', async () => {
    const one = locker()
    await using _ = await one.acquire('cold')
    const stop = new AbortController()
    const gone = Array.from({ length: 300 }, () => one.acquire('cold', { signal: stop.signal }).catch(String))
    await expect.poll(async () => (await inspectQueue(one, 'cold')).waiting).toBe(300)
    await server.command('SCRIPT', 'FLUSH')
    await server.command('CONFIG', 'RESETSTAT')
    stop.abort('enough')
    expect(new Set(await Promise.all(gone))).toEqual(new Set(['enough']))
    await expect.poll(async () => (await inspectQueue(one, 'cold')).waiting).toBe(0)
    // The scripts for leaving and inspecting, and perhaps the one for a look.
    const [, texts] = /cmdstat_eval:calls=(\d+)/.exec(String(await server.command('INFO', 'commandstats'))) ?? []
    expect(Number(texts)).toBeLessThanOrEqual(3)
  })

  it('needs no other permissions than the README names', async () => {
    const allowed = [
      ...[
        '~lock:*',
        '~{*lock:*',
        '&lock:release:*',
        '&lock:turn:*',
        '+eval',
        '+evalsha',
        '+get',
        '+mget',
        '+set',
        '+del',
      ],
      ...['+pexpire', '+pttl', '+time', '+publish', '+info', '+client', '+subscribe', '+unsubscribe'],
      ...['+hget', '+hmget', '+hset', '+hdel', '+zadd', '+zrem', '+zrange', '+zrangebyscore', '+zrank', '+zscore'],
      ...['+zmscore', '+zcard', '+pubsub|numsub'],
    ]
    await server.command('ACL', 'SETUSER', 'queueing', 'on', '>secret', 'resetchannels', ...allowed)
    const two = locker({ user: 'queueing' })
    expect(await handedOver(two, two, 'allowed')).toBeLessThan(soonMs)
    const stop = new AbortController()
    await using _ = await two.acquire('allowed')
    const gone = two.acquire('allowed', { signal: stop.signal })
    setTimeout(() => stop.abort('enough'), 100)
    await expect(gone).rejects.toBe('enough')
  })
})
