import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BridgeProgram, startBridgeProgram } from '../../packages/bridge/test/program.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, eventually, ms, rounds } from '../support/scale.ts'

/** The streams on a key that keeps changing hands: with the quiet one, as many as one client may open. */
const noisyStreams = rounds(999, 200)
const noisyMs = ms(20_000, 2_000)
const releaseEachMs = 6
/** What a wake-up may take beyond twice that of a quiet bridge, for the scheduling of a busy machine. */
const slackMs = rounds(5, 100)
/** The interval between two messages about a key. */
const distanceMs = 50

let server: RedisServer
let bridge: BridgeProgram
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  bridge = await startBridgeProgram(server.url)
  redis = quiet(new Redis(server.url))
})
afterAll(async () => {
  redis.disconnect()
  await bridge[Symbol.asyncDispose]()
  await server.stop()
})

interface Listener {
  readonly socket: Socket
  releases: number
}

/** Opens a stream, with a count of the releases it was told of. */
async function listen(key: string): Promise<Listener> {
  const socket = connect(bridge.port, '127.0.0.1').on('error', () => undefined)
  socket.write(`GET /v1/events?key=${key} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${bridge.token}\r\n\r\n`)
  const listener = { socket, releases: 0 }
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    listener.releases += text.split('event: release').length - 1
  })
  await once(socket, 'data')
  return listener
}

const publish = (key: string): Promise<unknown> => redis.publish(`lock:release:${key}`, 'released 1')

/** How long after each release of a key its stream is told. */
async function wakeUps(listener: Listener, key: string, forMs: number): Promise<readonly number[]> {
  const times: number[] = []
  for (const endsAt = performance.now() + forMs; performance.now() < endsAt; await elapse(2 * distanceMs)) {
    const before = listener.releases
    const startedAt = performance.now()
    await publish(key)
    while (listener.releases === before) await once(listener.socket, 'data')
    times.push(performance.now() - startedAt)
  }
  return times.sort((a, b) => a - b)
}

const median = (sorted: readonly number[]): number => sorted[sorted.length >> 1] ?? Number.NaN

test(
  'a tenant whose lock changes hands all the time, before many streams, keeps no other from its wake-up',
  async () => {
    const victim = await listen('victim')
    const quietTimes = await wakeUps(victim, 'victim', ms(2_000))
    const noisy: Listener[] = []
    for (let stream = 0; stream < noisyStreams; stream++) noisy.push(await listen('noisy'))
    const before = noisy.map(({ releases }) => releases)
    const beganAt = performance.now()
    const releasing = setInterval(() => void publish('noisy'), releaseEachMs)
    const times = await wakeUps(victim, 'victim', noisyMs)
    clearInterval(releasing)
    const published = (performance.now() - beganAt) / releaseEachMs
    const shown = [quietTimes, times].map((all) => all.map((each) => each.toFixed(0)).join(' '))
    console.log(`told after ms, quiet: ${shown[0]}; beside ${published.toFixed(0)} releases: ${shown[1]}`)
    expect(times.length).toBeGreaterThanOrEqual(5)
    expect(median(times)).toBeLessThan(2 * median(quietTimes) + slackMs)

    // The last release is reported too, and no more often than promised, however long all of it took.
    const counts = (): number[] => noisy.map(({ releases }, stream) => releases - (before[stream] ?? 0))
    const sofar = counts()
    await publish('noisy')
    await eventually(() => counts().every((count, stream) => count > (sofar[stream] ?? 0)))
    const most = (performance.now() - beganAt) / distanceMs + 1
    expect(Math.max(...counts())).toBeLessThanOrEqual(most)
    for (const { socket } of [victim, ...noisy]) socket.destroy()
  },
  ms(120_000, 60_000),
)
