import { createLocker, type Locker } from '@leasehold/core'
import { inspectQueue } from '@leasehold/core/queue'
import type { LocalProcess } from '@leasehold/example-local/node-program'
import { ioredisBackend } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Entry } from '../src/ledger.ts'
import type { Report } from '../src/report.ts'
import { mostCalls } from '../src/slow-api.ts'
import { get, ledger, startWorker } from './workers.ts'

let redis: RedisServer
let client: Redis
/** A locker that belongs to none of the workers. */
let locks: Locker
let workers: [LocalProcess, LocalProcess]

beforeAll(async () => {
  redis = await startRedis()
  client = new Redis(redis.url).on('error', () => undefined)
  locks = createLocker({ ...ioredisBackend(client), name: 'test' })
  workers = await Promise.all([startWorker(redis.url, 'a'), startWorker(redis.url, 'b')])
})
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()))
  await locks.close()
  client.disconnect()
  await redis.stop()
})

function post(path: string, body: object, at: number): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch((workers[at % 2] as LocalProcess).url + path, { method: 'POST', headers, body: JSON.stringify(body) })
}

/**
 * Posts the bodies one after the other, to alternating workers, while the test holds the lock, and then releases it.
 */
async function inLine(key: string, path: string, bodies: readonly object[]): Promise<void> {
  const lease = await locks.acquire(key)
  const answers: Promise<Response>[] = []
  for (const [at, body] of bodies.entries()) {
    answers.push(post(path, body, at))
    await expect.poll(async () => (await inspectQueue(locks, key)).waiting).toBe(at + 1)
  }
  await lease.release()
  for (const answer of answers) expect((await answer).status).toBe(200)
}

test('bookings on one account are done in the order in which they came, whichever worker they came to', async () => {
  const bookings = ['1', '2', '3', '4', '5', '6']
  await inLine(
    'account:acc-1',
    '/bookings',
    bookings.map((booking) => ({ account: 'acc-1', booking })),
  )
  const done = await ledger(workers[0], 'booked')
  expect(done.map(({ did }) => did)).toEqual(bookings.map((booking) => `booked ${booking} on acc-1`))
  expect(new Set(done.map(({ worker }) => worker))).toEqual(new Set(['a', 'b']))
})

test('the most urgent document is printed first, wherever it came in', async () => {
  await inLine('printer', '/prints', [
    { document: 'leaflet', urgency: 9 },
    { document: 'letter', urgency: 5 },
    { document: 'invoice', urgency: 1 },
  ])
  const printed = await ledger(workers[0], 'printed')
  expect(printed.map(({ did }) => did)).toEqual(['printed invoice', 'printed letter', 'printed leaflet'])
})

test('a report is built once for all who ask for it at once', async () => {
  const asked = Array.from({ length: 40 }, (_, at) => get<Report>(workers[at % 2] as LocalProcess, '/reports/2026-11'))
  const reports = await Promise.all(asked)
  expect(reports).toEqual(Array(40).fill(reports[0]))
  expect(await ledger(workers[0], 'built')).toHaveLength(1)
})

test('no more calls go to the slow API at once than it takes, and all of them get through', async () => {
  const rates = Array.from({ length: 20 }, (_, at) => get(workers[at % 2] as LocalProcess, `/rates/C${at}`))
  expect((await Promise.all(rates)).length).toBe(20)
  const entries = await get<readonly Entry[]>(workers[0], '/ledger')
  let [open, most] = [0, 0]
  for (const { did } of entries) {
    if (did.startsWith('ask')) most = Math.max(most, ++open)
    else if (did.startsWith('told')) open--
  }
  expect([most, open]).toEqual([mostCalls, 0])
})

test('the nightly job runs once, though it is over when the timers of the other workers go off', async () => {
  const ran: unknown[] = []
  for (let at = 0; at < 4; at++) ran.push(await (await post('/nightly', {}, at)).json())
  expect(ran).toEqual([{ ran: true }, ...Array(3).fill({ ran: false })])
  expect(await ledger(workers[0], 'ran the nightly')).toHaveLength(1)
})

test('one worker schedules, and when it is killed the other goes on where it stopped', async () => {
  const { leader } = await get<{ leader: string }>(workers[0], '/leader')
  const [first, second] = leader === 'a' ? workers : [workers[1], workers[0]]
  const ticks = async (): Promise<readonly string[]> => (await ledger(second, 'tick')).map(({ worker }) => worker)
  await expect.poll(ticks).toContain(leader)
  expect(new Set(await ticks())).toEqual(new Set([leader]))

  first.kill('SIGKILL')
  const other = leader === 'a' ? 'b' : 'a'
  await expect.poll(ticks, { timeout: 10_000 }).toContain(other)
  const done = await ledger(second, 'tick')
  // A leader that dies between its two writes has counted a tick that it did not do. No tick is done twice.
  const numbers = done.map(({ did }) => Number(did.slice('tick '.length)))
  expect(numbers).toEqual([...new Set(numbers)].sort((one, next) => one - next))
  expect((numbers.at(-1) as number) - numbers.length).toBeLessThanOrEqual(1)
})

test('a worker that stops gives up the lead at once, and ends in order', async () => {
  const third = await startWorker(redis.url, 'c')
  const { leader } = await get<{ leader: string }>(third, '/leader')
  const leading = workers.find((_, at) => ['a', 'b'][at] === leader) as LocalProcess
  expect(await leading.stop()).toBe(0)
  await expect.poll(() => get(third, '/leader')).toEqual({ leader: 'c' })
  expect(await third.stop()).toBe(0)
})
