import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createLocker } from '@leasehold/core'
import { type DetachedLease, resume } from '@leasehold/core/hand-over'
import { fetchStore } from '@leasehold/upstash'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listen } from '../../packages/bridge/src/bin/http-server.ts'
import { ioredisGateway } from '../../packages/bridge/src/bin/ioredis-gateway.ts'
import { createGateway } from '../../packages/bridge/src/gateway/index.ts'
import { type RedisArena, redisArena } from '../support/arena.ts'
import type { HandOverOrder } from '../support/hand-over-worker.ts'
import { eventually, ms } from '../support/scale.ts'

/*
 * A lease that travels with its work, from the process that took it to the one that does it. The queue delivers at least once, and
 * each process may be killed at any moment.
 */

const program = new URL('../support/hand-over-worker.ts', import.meta.url)

interface Answer {
  readonly fence: number
  readonly message: DetachedLease
  readonly outcome: string
}

/** A process that acquires, detaches, resumes and releases when it is told to. */
class Worker implements AsyncDisposable {
  readonly #child: ChildProcess

  constructor(child: ChildProcess) {
    this.#child = child
  }

  async told(order: HandOverOrder): Promise<Answer> {
    const answer = once(this.#child, 'message')
    this.#child.send(order)
    return (await answer)[0] as Answer
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}

let arena: RedisArena
/** Sends the work of all cases, except the one in which it has ended. */
let producer: Worker
beforeAll(async () => {
  arena = await redisArena()
  producer = await started('producer')
})
afterAll(async () => {
  await producer.kill()
  await arena[Symbol.asyncDispose]()
})

async function started(name: string): Promise<Worker> {
  const args = [arena.server.url, arena.prefix, name]
  const child = fork(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  await once(child, 'message')
  return new Worker(child)
}

const longMs = 60_000
const shortMs = ms(5_000, 2_000)
const superseded = { code: 'LEASE_LOST', reason: 'superseded' }

/** Has a process take a lock and detach its lease. */
async function sent(key: string, ttl = longMs, by = producer): Promise<DetachedLease> {
  await by.told({ do: 'acquire', key, ttl: shortMs })
  const { message } = await by.told({ do: 'detach', key, ttl })
  return message
}

describe('work that is queued with its lock', () => {
  it('is guarded all the way, though the process that sent it has ended', async () => {
    const ending = await started('sender')
    const message = await sent('guarded', longMs, ending)
    await ending.kill()
    const others = arena.client()
    expect(await others.inspect('guarded')).toMatchObject({ held: true, holder: 'sender' })
    await using consumer = await started('consumer')
    const { fence } = await consumer.told({ do: 'resume', message, ttl: shortMs })
    expect(fence).toBeGreaterThan(message.fence)
    expect(await others.inspect('guarded')).toMatchObject({ held: true, holder: 'consumer', fence })
    expect(await others.tryAcquire('guarded')).toBeNull()
    expect(await consumer.told({ do: 'release', key: 'guarded' })).toEqual({ outcome: 'released' })
    expect(await others.isLocked('guarded')).toBe(false)
  })

  it('is done by one of two processes to which it is delivered at once', async () => {
    const message = await sent('twice')
    await using first = await started('first')
    await using second = await started('second')
    const answers = await Promise.all([first, second].map((each) => each.told({ do: 'resume', message, ttl: longMs })))
    expect(answers).toContainEqual({ fence: expect.any(Number) })
    expect(answers).toContainEqual(superseded)
  })

  it('can be resumed after a consumer has died that did not come to it', async () => {
    const message = await sent('unresumed')
    await (await started('dies')).kill()
    await using consumer = await started('consumer')
    expect(await consumer.told({ do: 'resume', message, ttl: shortMs })).toEqual({ fence: expect.any(Number) })
  })

  it('goes on under a new lease after its consumer has died: redelivered, it is superseded, and its key acquired', async () => {
    const dying = await started('dies')
    await using consumer = await started('consumer')
    const message = await sent('redelivered', shortMs)
    const { fence } = await dying.told({ do: 'resume', message, ttl: shortMs })
    expect(fence).toBeGreaterThan(message.fence)
    await dying.kill()
    expect(await consumer.told({ do: 'resume', message, ttl: shortMs })).toEqual(superseded)
    const again = await consumer.told({ do: 'acquire', key: 'redelivered', ttl: shortMs })
    expect(again.fence).toBeGreaterThan(fence)
    expect(await consumer.told({ do: 'resume', message, ttl: shortMs })).toEqual(superseded)
    expect(await consumer.told({ do: 'release', key: 'redelivered' })).toEqual({ outcome: 'released' })
  })

  it('frees its lock by itself if it never arrives, or its consumer dies', async () => {
    const consumer = await started('dies')
    await using late = await started('late')
    const lost = await sent('lost', shortMs)
    const message = await sent('abandoned', shortMs)
    expect(await consumer.told({ do: 'resume', message, ttl: shortMs })).toEqual({ fence: expect.any(Number) })
    await consumer.kill()
    const others = arena.client()
    for (const key of ['lost', 'abandoned']) {
      await eventually(async () => !(await others.isLocked(key)))
      await (await others.acquire(key)).release()
    }
    expect(await late.told({ do: 'resume', message: lost, ttl: shortMs })).toEqual(superseded)
  })

  it('crosses from a server over TCP to a function over HTTP', async () => {
    const message = await sent('crossing')
    const token = 'hand-over-token-0123456789abcdef01'
    const gateway = ioredisGateway(arena.server.url, { unansweredMs: 5_000 })
    const http = await listen(createGateway({ redis: gateway, tokens: [token] }), { host: '127.0.0.1', port: 0 })
    try {
      await using locks = createLocker({
        store: fetchStore({ url: http.url, token, prefix: arena.prefix }),
        name: 'edge',
      })
      const lease = await resume(locks, message, { ttl: longMs })
      expect(await locks.inspect('crossing')).toMatchObject({ holder: 'edge', fence: lease.fence })
      await using consumer = await started('consumer')
      expect(await consumer.told({ do: 'resume', message, ttl: longMs })).toEqual(superseded)
      expect(await lease.release()).toBe('released')
    } finally {
      await http.close(0)
      await gateway.close()
    }
  })
})
