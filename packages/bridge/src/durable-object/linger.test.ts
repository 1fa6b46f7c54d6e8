import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bridgeUser, connectionsOf, startTestWorker, type TestWorker } from '../../test/durable-object.ts'

const lingerMs = 1_000

let server: RedisServer
let worker: TestWorker
beforeAll(async () => {
  server = await startRedis()
  worker = await startTestWorker({ redisUrl: await bridgeUser(server), settings: { lingerMs, heartbeatMs: 100 } })
  await server.command('SET', 'lock:held', 'somebody')
})
afterAll(async () => {
  await worker[Symbol.asyncDispose]()
  await server.stop()
})

/** Waits in real time, during which something must not happen. */
const elapse = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Resolves when the object has no connections to Redis left, with how long that took, in milliseconds. */
async function quiet(): Promise<number> {
  const start = performance.now()
  await expect.poll(() => connectionsOf(server), { interval: 20 }).toEqual([])
  expect(await server.command('PUBSUB', 'NUMPAT')).toBe(0)
  return performance.now() - start
}

test('the connections stay for as long as a poll or a stream is open, and a while longer, and then are closed', async () => {
  const stream = await worker.stream('key=held')
  await stream.heard('data: ')
  const connections = await connectionsOf(server)
  expect(connections).toHaveLength(2)
  expect((await worker.wait('held', '-', `&timeout=${2 * lingerMs}ms`)).status).toBe(204)
  stream.close()
  expect((await worker.wait('held', '-', `&timeout=${2 * lingerMs}ms`)).status).toBe(204)
  expect(await connectionsOf(server)).toEqual(connections)
  // A request within the linger restarts it.
  expect((await worker.wait('free', '-')).status).toBe(200)
  expect(await connectionsOf(server)).toEqual(connections)
  expect(await quiet()).toBeGreaterThan(lingerMs / 2)
})

test('requests that are not let in do not keep them, however many there are', async () => {
  expect((await worker.wait('free', '-')).status).toBe(200)
  expect(await connectionsOf(server)).toHaveLength(2)
  const nobody = { authorization: 'Bearer wrong' }
  const knock = () =>
    Promise.all([
      worker.get('/healthz'),
      worker.get('/v1/nothing'),
      worker.get('/v1/wait?key=held'),
      ...['/readyz', '/v1/wait?key=held&since=-', '/v1/events?key=held'].map((path) => worker.get(path, nobody)),
    ])
  let knocked = 0
  await expect
    .poll(
      async () => {
        await knock()
        knocked++
        return connectionsOf(server)
      },
      { interval: 20 },
    )
    .toEqual([])
  expect(knocked).toBeGreaterThan(5)
  await knock()
  expect(await connectionsOf(server)).toEqual([])
})

test('who comes after that is served as the first was', async () => {
  const answer = worker.wait('held', '-')
  await expect.poll(() => connectionsOf(server)).toHaveLength(2)
  await server.command('DEL', 'lock:held')
  await server.command('PUBLISH', 'lock:release:held', '')
  expect((await answer).status).toBe(200)
  await quiet()
})

/** The longest pause before an object that has not given up would retry, plus time to do it, in milliseconds. */
const tryAgainMs = 1_500

test('an object that cannot reach Redis gives up trying when nobody waits any more', async () => {
  await server.kill()
  expect((await worker.wait('held', '-')).status).toBe(503)
  await elapse(2 * lingerMs)
  await server.restart()
  await bridgeUser(server)
  await elapse(tryAgainMs)
  expect(await connectionsOf(server)).toEqual([])
  // It could connect: a new request is served.
  expect((await worker.wait('free', '-')).status).toBe(200)
  expect(await connectionsOf(server)).toHaveLength(2)
  expect(worker.complaints).toEqual([])
})
