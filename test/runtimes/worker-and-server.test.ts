import { createLocker, type LockerEvent } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { seededRandom } from '@leasehold/testkit'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestGateway, type TestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, ms, rounds } from '../support/scale.ts'
import { judge, type Verdict } from './referee.ts'
import { startWorker, type Worker } from './worker.ts'

/*
 * A Worker, over HTTP, and a server, over TCP, contend for one lock. Afterwards a referee reads what each noted in a
 * list of that Redis when it came in and before it left.
 */

let gateway: TestGateway
let worker: Worker
let redis: Redis
beforeAll(async () => {
  gateway = await startTestGateway()
  worker = await startWorker({ entry: 'contender.ts', gateway: { url: gateway.url, token } })
  redis = quiet(new Redis(gateway.server.url))
})
afterAll(async () => {
  redis.disconnect()
  await worker[Symbol.asyncDispose]()
  await gateway[Symbol.asyncDispose]()
})
beforeEach(() => gateway.server.command('DEL', 'referee'))

const note = (fence: number | null, what: 'in' | 'out'): Promise<unknown> =>
  redis.rpush('referee', `server ${fence} ${what}`)
const verdict = async (): Promise<Verdict> => judge(await redis.lrange('referee', 0, -1))

test(
  'a Worker and a server exclude each other, and fences rise from one to the other',
  async () => {
    const { random } = seededRandom()
    const count = rounds(1_000, 100)
    let refused = 0
    const onEvent = ({ type }: LockerEvent): void => void (type === 'contended' && refused++)
    const locks = createLocker({ store: ioredisStore(redis), name: 'server', onEvent })
    const atTheWorker = async (): Promise<void> => {
      expect(await worker.ask('/')).toMatchObject({ status: 200 })
    }
    const atTheServer = (): Promise<void> =>
      locks.withLock('shared', { wait: '60s' }, async ({ fence }) => {
        await note(fence, 'in')
        await note(fence, 'out')
      })
    // Two calls on either side, so that each side also hands the lock to itself. Which comes first is random.
    const calls = [atTheWorker, atTheWorker, atTheServer, atTheServer]
    for (let round = 0; round < count; round++) {
      await Promise.all(calls.map((call) => elapse(random() * 10).then(call)))
    }

    const { rounds: done, turns, overlaps, fencesNotRisen } = await verdict()
    const { refused: refusedToo } = (await worker.ask('/figures')).body as { readonly refused: number }
    console.log(`${count} rounds: ${turns} changes of side, refusals: Worker ${refusedToo}, server ${refused}`)
    expect({ done, overlaps, fencesNotRisen }).toEqual({
      done: { worker: 2 * count, server: 2 * count },
      overlaps: [],
      fencesNotRisen: [],
    })
    expect(turns).toBeGreaterThanOrEqual(count)
    expect(Math.min(refused, refusedToo)).toBeGreaterThan(count / 4)
    expect(worker.complaints).toEqual([])
    await locks.close()
  },
  ms(600_000),
)

test('the referee would see two of them in at once, and a fence that has not risen', async () => {
  await note(1, 'in')
  await worker.ask('/lawless')
  await note(1, 'out')
  expect(await verdict()).toMatchObject({
    rounds: { worker: 1, server: 1 },
    overlaps: ['worker 0 in, while server 1 was in', 'server 1 out, while nobody was in'],
    fencesNotRisen: ['worker 0 in, after server with 1'],
  })
})
