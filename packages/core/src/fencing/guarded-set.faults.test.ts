import { ManualClock, seededRandom } from '@leasehold/testkit'
import { connectRedisAdmin, type RedisAdmin, type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RedisTransport, ScriptCall, ScriptReply } from '../redis/redis-transport.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { type GuardedSetOutcome, guardedDelete, guardedSet } from './guarded-set.ts'

const commandDeadlineMs = 2_000
let server: RedisServer
let admin: RedisAdmin
let transport: RedisTransport
/** The clock of the writes under test. While it stands still no deadline passes, however slow the machine is. */
let clock: ManualClock

beforeAll(async () => {
  server = await startRedis()
  admin = await connectRedisAdmin({ port: server.port })
  transport = {
    commandDeadlineMs,
    cluster: false,
    countsSubscribers: true,
    nodeOf: () => '',
    whenReady: () => undefined,
    run: (calls) => Promise.all(calls.map(send)),
  }
})
afterAll(async () => {
  await admin?.close()
  await server?.stop()
})
beforeEach(async () => {
  clock = new ManualClock()
  await admin.command('FLUSHALL')
})

const send = ({ command, body, keys, args }: ScriptCall): Promise<ScriptReply> =>
  admin.command(command, body, keys.length, ...keys, ...args).then(
    (value) => ({ type: 'value', value, resent: false }),
    (error: Error) => ({ type: 'error', message: error.message }),
  )

const set = (over: RedisTransport, value: string, fence: number): Promise<GuardedSetOutcome> =>
  guardedSet(over, 'k', value, { fence, clock })
/** Lets the first attempt run out of time, so that the second is made. */
const firstAttemptEnds = (): Promise<void> => clock.advance(commandDeadlineMs / 2)

const get = (key: string) => admin.command('GET', key)
const unknown = (executed: 'no' | 'unknown'): ScriptReply => ({ type: 'unknown', executed })

/**
 * A network that gives the first calls to `faults`, one each, and carries the rest. The last may stay: see `lasting`.
 */
function faulty(
  ...faults: ((call: ScriptCall, deadline: CallDeadline) => Promise<ScriptReply> | ScriptReply)[]
): RedisTransport {
  return {
    ...transport,
    run: (calls, deadline) =>
      Promise.all(
        calls.map(async (call) => ((faults[0] === faults[1] ? faults[0] : faults.shift()) ?? send)(call, deadline)),
      ),
  }
}

/** A fault that does not go away. */
const lasting = <F>(fault: F): [F, F] => [fault, fault]

const loseReply = async (call: ScriptCall): Promise<ScriptReply> => {
  await send(call)
  return unknown('unknown')
}

describe('a guarded write without an answer', () => {
  test('gives up within the command deadline and says that it may still happen, as it then does', async () => {
    await set(transport, 'before', 1)
    server.pause()
    const write = expect(set(transport, 'x', 2)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      executed: 'unknown',
    })
    await clock.advance(commandDeadlineMs)
    await write
    expect(clock.pending).toBe(0)
    server.resume()
    await vi.waitFor(async () => expect(await get('k')).toBe('x'))
  })

  test.each([
    ['no', 'no', 'no'],
    ['unknown', 'no', 'unknown'],
    ['no', 'unknown', 'unknown'],
  ] as const)('whose attempts were carried out "%s" and "%s" is told as "%s"', async (first, second, executed) => {
    for (const write of [guardedSet.bind(null, unknowing(), 'k', 'x'), guardedDelete.bind(null, unknowing(), 'k')]) {
      const refusal = expect(write({ fence: 1, clock })).rejects.toMatchObject({ executed })
      await clock.advance(commandDeadlineMs)
      await refusal
    }
    function unknowing(): RedisTransport {
      return faulty(() => unknown(first), ...lasting(() => unknown(second)))
    }
  })

  test('did not happen, where a transport that is told to stop says that it has sent nothing', async () => {
    const waiting = (_: ScriptCall, { signal }: CallDeadline): Promise<ScriptReply> =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(unknown('no'))))
    const write = expect(set(faulty(waiting, waiting), 'x', 1)).rejects.toMatchObject({ executed: 'no' })
    await clock.advance(commandDeadlineMs)
    await write
  })

  test('is sent once more, and its lost reply is found', async () => {
    await set(transport, 'warm', 1)
    const write = set(faulty(loseReply), 'x', 2)
    await firstAttemptEnds()
    expect(await write).toEqual({ stored: true })
    expect(await get('k')).toBe('x')
  })

  test.each(['OK', 1, null, [], [['fenced', 'x']], [['fenced']], [['renewed']]])(
    'is what %j is taken for',
    async (value) => {
      const garbled = (): ScriptReply => ({ type: 'value', value, resent: false })
      const write = expect(set(faulty(...lasting(garbled)), 'x', 1)).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        executed: 'unknown',
      })
      await clock.advance(commandDeadlineMs)
      await write
    },
  )

  test("ends with the caller's own reason when it is aborted, and leaves no timer", async () => {
    const stop = new AbortController()
    const never = faulty(() => new Promise(() => undefined))
    const write = guardedSet(never, 'k', 'x', { fence: 1, clock, signal: stop.signal })
    stop.abort('enough')
    await expect(write).rejects.toBe('enough')
    expect(clock.pending).toBe(0)
  })
})

test("the server's own refusal is told at once, with its cause", async () => {
  const write = set(
    faulty(() => ({ type: 'error', message: 'NOPERM no permissions' })),
    'x',
    1,
  )
  await expect(write).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    executed: 'no',
    cause: { message: 'NOPERM no permissions' },
  })
})

describe('a copy that arrives late', () => {
  /** Writes "first" with a first request that is in flight so long that "second" is written before it arrives. */
  async function overtaken(arrives: (call: ScriptCall) => Promise<ScriptReply>): Promise<ScriptReply> {
    await set(transport, 'warm', 1)
    const delayed: ScriptCall[] = []
    const slow = faulty((call) => {
      delayed.push(call)
      return unknown('unknown')
    })
    const first = set(slow, 'first', 2)
    await firstAttemptEnds()
    await first
    expect(await get('k')).toBe('first')
    await set(transport, 'second', 2)
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
  /** All write their fences at once, and the data is read in between. Resolves with the fences in the order seen. */
  async function race(random: () => number, write: (fence: number) => Promise<unknown>): Promise<readonly number[]> {
    const seen: number[] = []
    const fences = Array.from({ length: 100 }, () => 1 + Math.floor(random() * 40))
    await Promise.all(fences.flatMap((fence) => [write(fence), get('k').then((value) => seen.push(Number(value)))]))
    expect(Math.max(...seen, Number(await get('k')))).toBe(Math.max(...fences))
    return seen
  }
  const goesBack = (seen: readonly number[]): boolean => seen.some((fence, at) => fence < (seen[at - 1] ?? 0))

  test('never make the guarded data go back, and each is told the truth', async () => {
    const { random, seed } = seededRandom()
    for (let round = 0; round < 10; round++) {
      await admin.command('FLUSHALL')
      let highest = 0
      const seen = await race(random, async (fence) => {
        const outcome = await set(transport, String(fence), fence)
        // Replies come in the order in which the requests of the single connection were carried out.
        highest = Math.max(highest, fence)
        const expected = fence < highest ? { stored: false, highest } : { stored: true }
        expect(outcome, `seed ${seed}, round ${round}`).toEqual(expected)
      })
      expect(goesBack(seen), `seed ${seed}, round ${round}: ${seen}`).toBe(false)
    }
  })

  test('make data go back that is not guarded', async () => {
    const seen = await race(seededRandom(1).random, (fence) => admin.command('SET', 'k', fence))
    expect(goesBack(seen)).toBe(true)
  })
})
