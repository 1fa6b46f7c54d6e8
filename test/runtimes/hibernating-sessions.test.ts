import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createLocker, type Locker } from '@leasehold/core'
import { type Sessions, sessions } from '@leasehold/sessions'
import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { fetchStore } from '@leasehold/upstash'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type RunningProgram, readyUrl, runProgram } from '../../packages/bridge/test/program.ts'
import { elapse, eventually, limit, rounds, soak } from '../support/scale.ts'
import { startWorker, type Worker } from './worker.ts'

/*
 * The sockets of a Durable Object in workerd, whose sessions a server in Node contends for. The object's entries live
 * for 30 s; its alarm comes as often as the test says.
 */

const gatewayMain = fileURLToPath(new URL('../../packages/bridge/src/bin/gateway.ts', import.meta.url))
const token = 'sessions-token-2b8c-0123456789abcdef-0123456789'

let redis: RedisServer
/** A process of its own: it answers the object while `hibernate` blocks this one. */
let gateway: RunningProgram
let worker: Worker
/** The network between the gateway and one more Worker. */
let network: TcpProxy
let cutOff: Worker
let locks: Locker
let server: Sessions
beforeAll(async () => {
  redis = await startRedis()
  gateway = runProgram(gatewayMain, ['--redis', redis.url, '--port', '0', '--token', token])
  const url = await readyUrl(gateway)
  worker = await startWorker({
    entry: 'session-room.ts',
    gateway: { url, token },
    objects: { ROOM: 'SessionRoom' },
  })
  network = await startTcpProxy({ port: Number(new URL(url).port) })
  cutOff = await startWorker({
    entry: 'session-room.ts',
    gateway: { url: `http://${network.host}:${network.port}`, token },
    objects: { ROOM: 'BriefSessionRoom' },
  })
  locks = createLocker({ store: fetchStore({ url, token }), name: 'server' })
  server = sessions(locks, { ttl: '30s', silence: '1m', sharedRoles: ['reader'] })
})
afterAll(async () => {
  await server.close()
  await locks.close()
  await worker[Symbol.asyncDispose]()
  await cutOff[Symbol.asyncDispose]()
  await network.stop()
  gateway.child.kill('SIGKILL')
  await gateway.ended
  await redis.stop()
})

interface Page {
  readonly socket: WebSocket
  /** The code with which the object closes the socket. */
  closed(): Promise<number>
}

async function open(
  room: string,
  user: string,
  { tab = 'tab', every = 300, silence = 1_200, of = worker } = {},
): Promise<Page> {
  const query = new URLSearchParams({ room, user, tab, every: String(every), silence: String(silence) })
  const socket = new WebSocket(`${of.url.replace('http', 'ws')}/?${query}`)
  const code = new Promise<number>((resolve) => socket.once('close', resolve))
  await once(socket, 'open')
  async function closed(): Promise<number> {
    await eventually(() => socket.readyState >= WebSocket.CLOSING)
    // The code has arrived, but workerd ends the connection only when it lets the object hibernate, 10 s later.
    socket.terminate()
    return code
  }
  return { socket, closed }
}

/** How often the object of a room was constructed, and how often its alarm has renewed sessions. */
async function counted(of: Worker, room: string) {
  const { body } = await of.ask(`/?room=${room}&made`)
  return body as { readonly made: number; readonly renewals: number }
}

const members = async (room: string): Promise<readonly string[]> =>
  (await server.members(room)).map(({ userId, sessions: own }) => `${userId} by ${own[0]?.server}`)

const enter = (room: string, userId: string, takeOver: 'nobody' | 'anyone' = 'nobody') =>
  server.enter({ resource: room, role: 'writer', userId, sessionId: 'other', takeOver })

describe.concurrent('a session whose socket is in an object', () => {
  test('excludes those of servers, for as long as its client gives signs of life', async () => {
    const silence = 4_000
    const { socket, closed } = await open('alive', 'ada', { silence })
    const beat = setInterval(() => socket.send('ping'), 200)
    await elapse(silence + 1_000)
    expect(await members('alive')).toEqual(['ada by object'])
    expect(await enter('alive', 'bob')).toMatchObject({ type: 'held', by: { userId: 'ada' } })
    clearInterval(beat)
    expect(await closed()).toBe(4002)
    expect((await enter('alive', 'bob')).type).toBe('entered')
  })

  test('is looked after though others come more often than the alarm', async () => {
    const { socket, closed } = await open('busy', 'ada', { silence: 500 })
    for (let tab = 1; tab <= 20 && socket.readyState === WebSocket.OPEN; tab++) {
      await open('busy', 'ada', { tab: `tab-${tab}`, silence: 500 })
      await elapse(150)
    }
    expect(socket.readyState).not.toBe(WebSocket.OPEN)
    expect(await closed()).toBe(4002)
  })

  test('leaves with its socket', async () => {
    const { socket } = await open('leaving', 'ada')
    socket.close()
    await eventually(async () => (await members('leaving')).length === 0)
  })

  test('that is taken over is closed; its late end does not evict who has its place', async () => {
    const { closed } = await open('taken', 'ada', { silence: 60_000 })
    expect((await enter('taken', 'bob', 'anyone')).type).toBe('entered')
    expect(await closed()).toBe(4001)
    expect(await members('taken')).toEqual(['bob by server'])
  })

  test('that connects again displaces its earlier self, and keeps its place when the old socket ends', async () => {
    const first = await open('again', 'ada', { silence: 60_000 })
    const second = await open('again', 'ada', { silence: 60_000 })
    first.socket.terminate()
    await elapse(500)
    expect(await members('again')).toEqual(['ada by object'])
    expect(second.socket.readyState).toBe(WebSocket.OPEN)
    second.socket.close()
  })

  test('is given up before others can have its role when the object is cut off from the store, and its page hears why', async () => {
    const options = { silence: 60_000, of: cutOff }
    const { socket, closed } = await open('cut', 'ada', options)
    const other = await open('cut', 'ada', { ...options, tab: 'other' })
    await eventually(async () => (await counted(cutOff, 'cut')).renewals > 0)
    network.blackHole()
    // While the alarm waits for an answer: it must not fail because this page has gone.
    other.socket.close()
    const askedMs = Date.now()
    socket.send('for how long?')
    const trustedMs = Number((await once(socket, 'message', { signal: AbortSignal.timeout(limit(1_000)) }))[0])
    expect(trustedMs).toBeGreaterThan(0)
    await eventually(async () => (await enter('cut', 'bob')).type === 'entered')
    expect(Date.now()).toBeGreaterThan(askedMs + trustedMs)
    expect(await closed()).toBe(4003)
    expect(Date.now() - askedMs - trustedMs).toBeLessThan(limit(2_000))
    expect(cutOff.complaints).toEqual([])
  })

  test('is renewed by an object that has hibernated, and forgot everything else', async () => {
    const { socket } = await open('asleep', 'ada', { every: 500, silence: 20_000 })
    const beat = setInterval(() => socket.send('ping'), 200)
    // As the store has it: a time left that a busy machine reads late would look like a renewal.
    const expiry = async () =>
      Number(((await redis.command('ZRANGE', '{lock:asleep}:entries', 0, 0, 'WITHSCORES')) as string[])[1])
    const hibernations = rounds(10, 3)
    for (let round = 0; round < hibernations; round++) {
      await worker.hibernate('SessionRoom', 'asleep')
      // A renewal that was on its way when the object went to sleep still counts in the store. The next one is by an
      // object that is awake again.
      for (let renewal = 0; renewal < 2; renewal++) {
        const before = await expiry()
        await eventually(async () => (await expiry()) > before)
      }
    }
    const { made, renewals } = await counted(worker, 'asleep')
    expect(made).toBeGreaterThan(hibernations)
    expect(renewals).toBeGreaterThanOrEqual(hibernations)
    expect(await members('asleep')).toEqual(['ada by object'])
    expect(socket.readyState).toBe(WebSocket.OPEN)
    clearInterval(beat)
    socket.close()
  })

  // workerd lets an object hibernate by itself after 10 s without an event. The pings do not wake it.
  test.skipIf(!soak)('is renewed by an object that hibernates whenever nothing happens', async () => {
    const { socket } = await open('idle', 'ada', { every: 14_000, silence: 20_000 })
    const beat = setInterval(() => socket.send('ping'), 500)
    await elapse(45_000)
    const { made, renewals } = await counted(worker, 'idle')
    expect(made).toBeGreaterThan(1)
    expect(renewals).toBeGreaterThanOrEqual(3)
    expect(await members('idle')).toEqual(['ada by object'])
    expect(socket.readyState).toBe(WebSocket.OPEN)
    clearInterval(beat)
    socket.close()
  })
})
