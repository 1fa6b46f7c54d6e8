import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createLocker, type Lease, type Locker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { startTcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { linesOf } from '../../packages/bridge/test/bridge.ts'
import { type BridgeProgram, startBridgeProgram } from '../../packages/bridge/test/program.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, eventually, limit, ms } from '../support/scale.ts'

const keys = Array.from({ length: 20 }, (_, at) => `key-${at}`)
/** The keys of the healthy streams; when the others have vanished, nobody waits for the rest. */
const healthyKeys = keys.slice(0, 5)
const churnMs = ms(60_000)
const roundMs = 250
/** The bridge gives the woken waiter half a second, and then checks who has the lock. */
const turnMs = 500
/** Two of the program's heartbeats. */
const twoHeartbeatsMs = 20_000
/** How much the program may grow in bytes while only time passes: much less than one stream per round would take. */
const flatBytes = { heap: 2_000_000, resident: 20_000_000 }

let server: RedisServer
let bridge: BridgeProgram
let redis: Redis
let locks: Locker
beforeAll(async () => {
  server = await startRedis()
  bridge = await startBridgeProgram(server.url)
  redis = quiet(new Redis(server.url))
  locks = createLocker({ store: ioredisStore(redis), ttl: '10m', renew: false })
})
afterAll(async () => {
  redis.disconnect()
  await bridge[Symbol.asyncDispose]()
  await server.stop()
})

const streams = (): Promise<number> => bridge.metric('leasehold_bridge_streams')
const checks = (): Promise<number> => bridge.metric('leasehold_bridge_checks_total')

/** An ill-behaved client with an open stream. */
async function openStream(key: string, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write(`GET /v1/events?key=${key} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${bridge.token}\r\n\r\n`)
  await once(socket, 'data')
  // Everything else is read and discarded.
  socket.resume()
  return socket
}

/** A stream on all healthy keys, and when it was told of each release, by key. */
async function listen(signal: AbortSignal): Promise<ReadonlyMap<string, number[]>> {
  const heard = new Map(healthyKeys.map((key) => [key, [] as number[]]))
  const query = healthyKeys.map((key) => `key=${key}`).join('&')
  const headers = { authorization: `Bearer ${bridge.token}` }
  const line = linesOf(await fetch(`${bridge.url}/v1/events?${query}`, { headers, signal }))
  let event = ''
  void (async () => {
    for (let text = await line(); text !== undefined; text = await line()) {
      if (text.startsWith('event: ')) event = text.slice(7)
      if (text.startsWith('data: ') && event === 'release') {
        const { key } = JSON.parse(text.slice(6)) as { readonly key: string }
        heard.get(key)?.push(performance.now())
      }
    }
  })()
  return heard
}

/** How often the time between two releases of a key was about a turn, or longer. */
const slowRounds = (times: readonly number[]): number =>
  times.filter((at, round) => at - (times[round - 1] ?? at) > turnMs - 100).length

test(
  'T-47: 200 streams that vanish keep nothing from 5 that stay, and nothing of them remains',
  async () => {
    const held = new Map<string, Lease>()
    for (const key of keys) held.set(key, await locks.acquire(key))
    const checksBefore = await checks()
    const checked = async (): Promise<number> => (await checks()) - checksBefore
    const stop = new AbortController()
    const healthy = await Promise.all(Array.from({ length: 5 }, () => listen(stop.signal)))
    // Half of them end with their process. The others are behind a lost network, and their closing does not get
    // through.
    await using lost = await startTcpProxy({ port: bridge.port })
    const hundred = (port: number): Promise<readonly Socket[]> =>
      Promise.all(Array.from({ length: 100 }, (_, at) => openStream(keys[at % 20] as string, port)))
    const [gone, silent] = await Promise.all([hundred(bridge.port), hundred(lost.port)])
    expect(await streams()).toBe(205)
    lost.blackHole()
    for (const [at, socket] of gone.entries()) at % 2 ? socket.destroy() : socket.resetAndDestroy()
    for (const socket of silent) socket.destroy()
    await eventually(async () => (await streams()) === 105, twoHeartbeatsMs)

    const released = new Map(keys.map((key) => [key, [] as number[]]))
    const releaseAll = async (): Promise<void> => {
      for (const key of keys) {
        released.get(key)?.push(performance.now())
        await held.get(key)?.release()
        held.set(key, await locks.acquire(key))
      }
    }
    const residents: number[] = []
    const beganAt = performance.now()
    // In the first third the program is still warming up.
    let warmHeap: number | undefined
    while (performance.now() < beganAt + churnMs) {
      const nextAt = performance.now() + roundMs
      await releaseAll()
      if (performance.now() > beganAt + churnMs / 3) warmHeap ??= await bridge.collectedHeap()
      residents.push(await bridge.metric('process_resident_memory_bytes'))
      await elapse(Math.max(0, nextAt - performance.now()))
    }
    const gainedHeap = (await bridge.collectedHeap()) - (warmHeap ?? 0)
    // Releases that a slow machine brings close together may be reported as one.
    const delaysOf = (heard: ReadonlyMap<string, readonly number[]>): number[] =>
      healthyKeys.flatMap(
        (key) => released.get(key)?.map((at) => (heard.get(key)?.find((told) => told >= at) ?? Infinity) - at) ?? [],
      )
    await eventually(() => healthy.flatMap(delaysOf).every(Number.isFinite))
    const delays = healthy.flatMap(delaysOf)
    // Resident memory comes and goes; what stays shows in the minimum of each third.
    const third = Math.floor(residents.length / 3)
    const gainedResident = Math.min(...residents.slice(-third)) - Math.min(...residents.slice(third, -third))
    console.log(
      `${delays.length} events in ${churnMs} ms, the latest after ${Math.max(...delays).toFixed(1)} ms; ` +
        `gained: heap ${gainedHeap}, resident ${gainedResident} bytes`,
    )
    expect(Math.max(...delays)).toBeLessThan(limit(500))
    expect(gainedHeap).toBeLessThan(flatBytes.heap)
    expect(gainedResident).toBeLessThan(flatBytes.resident)

    // One check per key when the streams began. A machine so slow that two releases are more than a turn apart gives
    // the bridge a reason for another.
    const late = Array.from(released.values(), slowRounds).reduce((sum, count) => sum + count)
    const whileChurned = await checked()
    expect(whileChurned).toBeGreaterThanOrEqual(keys.length)
    expect(whileChurned).toBeLessThanOrEqual(keys.length + late + keys.length)

    // Clients behind a lost network are known to be gone once the network says so.
    lost.cut()
    await eventually(async () => (await streams()) === 5, twoHeartbeatsMs)
    expect(await server.command('CLIENT', 'LIST', 'TYPE', 'pubsub')).toMatch(/^[^\n]* sub=0 psub=1 [^\n]*\n$/)
    await elapse(2 * turnMs)
    // From then on it checks only the keys that somebody still waits for.
    const before = await checked()
    await releaseAll()
    await eventually(async () => (await checked()) >= before + healthyKeys.length)
    await elapse(2 * turnMs)
    expect(await checked()).toBe(before + healthyKeys.length)

    stop.abort()
    await eventually(async () => (await streams()) === 0, twoHeartbeatsMs)
  },
  ms(200_000, 90_000),
)
