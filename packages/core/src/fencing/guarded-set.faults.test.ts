import { connectRedisAdmin, type RedisAdmin, type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RedisTransport, ScriptCall, ScriptReply } from '../redis/redis-transport.ts'
import { guardedDelete, guardedSet } from './guarded-set.ts'

const commandDeadlineMs = 300
let server: RedisServer
let admin: RedisAdmin
let transport: RedisTransport

beforeAll(async () => {
  server = await startRedis()
  admin = await connectRedisAdmin({ port: server.port })
  transport = { commandDeadlineMs, cluster: false, run: (calls) => Promise.all(calls.map(send)) }
})
afterAll(async () => {
  await admin?.close()
  await server?.stop()
})
beforeEach(() => admin.command('FLUSHALL'))

const send = ({ command, body, keys, args }: ScriptCall): Promise<ScriptReply> =>
  admin.command(command, body, keys.length, ...keys, ...args).then(
    (value) => ({ type: 'value', value, resent: false }),
    (error: Error) => ({ type: 'error', message: error.message }),
  )

const get = (key: string) => admin.command('GET', key)
const unknown = (executed: 'no' | 'unknown'): ScriptReply => ({ type: 'unknown', executed })

/** A network that gives the first calls to `faults`, one each, and carries the rest. */
function faulty(...faults: ((call: ScriptCall) => Promise<ScriptReply> | ScriptReply)[]): RedisTransport {
  return { ...transport, run: (calls) => Promise.all(calls.map(async (call) => (faults.shift() ?? send)(call))) }
}

const loseReply = async (call: ScriptCall): Promise<ScriptReply> => {
  await send(call)
  return unknown('unknown')
}

describe('a guarded write without an answer', () => {
  test('gives up within the command deadline and says that it may still happen, as it then does', async () => {
    await guardedSet(transport, 'k', 'before', { fence: 1 })
    server.pause()
    const startedAt = performance.now()
    const write = guardedSet(transport, 'k', 'x', { fence: 2 })
    await expect(write).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
    expect(performance.now() - startedAt).toBeLessThan(commandDeadlineMs + 200)
    server.resume()
    await vi.waitFor(async () => expect(await get('k')).toBe('x'))
  })

  test('says that it did not happen when it was never sent', async () => {
    const never = faulty(
      () => unknown('no'),
      () => unknown('no'),
    )
    await expect(guardedSet(never, 'k', 'x', { fence: 1 })).rejects.toMatchObject({ executed: 'no' })
    const once = faulty(
      () => unknown('unknown'),
      () => unknown('no'),
    )
    await expect(guardedDelete(once, 'k', { fence: 1 })).rejects.toMatchObject({ executed: 'unknown' })
  })

  test('is sent once more, and its lost reply is found', async () => {
    await guardedSet(transport, 'k', 'warm', { fence: 1 })
    expect(await guardedSet(faulty(loseReply), 'k', 'x', { fence: 2 })).toEqual({ stored: true })
    expect(await get('k')).toBe('x')
  })

  test('takes a reply of another shape for none', async () => {
    for (const value of ['OK', 1, null, [], [['fenced', 'x']], [['fenced']], [['renewed']]]) {
      const garbled = (): ScriptReply => ({ type: 'value', value, resent: false })
      const write = guardedSet(faulty(garbled, garbled), 'k', 'x', { fence: 1 })
      await expect(write, JSON.stringify(value)).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        executed: 'unknown',
      })
    }
  })

  test("tells the server's own refusal at once, with its cause", async () => {
    const refused = faulty(() => ({ type: 'error', message: 'NOPERM no permissions' }))
    const error = await guardedSet(refused, 'k', 'x', { fence: 1 }).catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      executed: 'no',
      cause: { message: 'NOPERM no permissions' },
    })
  })

  test("ends with the caller's own reason when it is aborted", async () => {
    const stop = new AbortController()
    const write = guardedSet(
      faulty(() => new Promise(() => undefined)),
      'k',
      'x',
      { fence: 1, signal: stop.signal },
    )
    stop.abort('enough')
    await expect(write).rejects.toBe('enough')
  })
})

describe('a copy that arrives late', () => {
  /** Writes "first", whose first request is on its way for so long that "second" is written before it arrives. */
  async function overtaken(arrives: (call: ScriptCall) => Promise<ScriptReply>): Promise<ScriptReply> {
    await guardedSet(transport, 'k', 'warm', { fence: 1 })
    const delayed: ScriptCall[] = []
    const slow = faulty((call) => {
      delayed.push(call)
      return unknown('unknown')
    })
    await guardedSet(slow, 'k', 'first', { fence: 2 })
    expect(await get('k')).toBe('first')
    await guardedSet(transport, 'k', 'second', { fence: 2 })
    return arrives(delayed[0] as ScriptCall)
  }

  test('does not undo a later write of the same holder', async () => {
    expect(await overtaken(send)).toMatchObject({ value: [['stored']] })
    expect(await get('k')).toBe('second')
  })

  test('would undo it if the guard did not know the order of writes', async () => {
    await overtaken((call) => send({ ...call, args: call.args.with(1, 'f'.repeat(32)) }))
    expect(await get('k')).toBe('first')
  })
})

describe('many writers in random order', () => {
  /** Each writes its fence, all at once; between them the data is read. Answers the fences in the order they were seen. */
  async function race(random: () => number, write: (fence: number) => Promise<unknown>): Promise<readonly number[]> {
    const seen: number[] = []
    const fences = Array.from({ length: 100 }, () => 1 + Math.floor(random() * 40))
    await Promise.all(fences.flatMap((fence) => [write(fence), get('k').then((value) => seen.push(Number(value)))]))
    expect(Math.max(...seen, Number(await get('k')))).toBe(Math.max(...fences))
    return seen
  }
  const goesBack = (seen: readonly number[]): boolean => seen.some((fence, at) => fence < (seen[at - 1] ?? 0))

  test('never make the guarded data go back, and each is told the truth', async () => {
    const seed = Date.now() % 2 ** 32
    const random = randomFrom(seed)
    console.log(`guarded writes in random order: seed ${seed}`)
    for (let round = 0; round < 10; round++) {
      await admin.command('FLUSHALL')
      let highest = 0
      const seen = await race(random, async (fence) => {
        const outcome = await guardedSet(transport, 'k', String(fence), { fence })
        // Replies come in the order in which the one connection's requests were carried out.
        highest = Math.max(highest, fence)
        const expected = fence < highest ? { stored: false, highest } : { stored: true }
        expect(outcome, `seed ${seed}, round ${round}`).toEqual(expected)
      })
      expect(goesBack(seen), `seed ${seed}, round ${round}: ${seen}`).toBe(false)
    }
  })

  test('make data go back that is not guarded', async () => {
    const seen = await race(randomFrom(1), (fence) => admin.command('SET', 'k', fence))
    expect(goesBack(seen)).toBe(true)
  })
})

/** mulberry32: small, and the same everywhere for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}
