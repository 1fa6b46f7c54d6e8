import { once } from 'node:events'
import type { LockerOptions } from '@leasehold/core'
import { type EnterOptions, type Session, type Sessions, type SessionsOptions, sessions } from '@leasehold/sessions'
import { seededRandom, startTcpProxy } from '@leasehold/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { type RedisArena, redisArena } from '../support/arena.ts'
import { elapse, eventually, limit, ms, rounds, soak } from '../support/scale.ts'
import { SessionServer } from '../support/session-server.ts'

/*
 * WebSocket sessions on several servers, which are killed, stopped, paused and cut off; and clients that fall silent
 * without notice.
 */

const ttl = ms(3_000, 2_500)
const sharedRoles = ['reader']

let arena: RedisArena
/** For the server with many sessions, so that nobody else's calls are counted. */
let quietArena: RedisArena
let servers: Readonly<Record<'killed' | 'stopped' | 'paused' | 'survivor' | 'large', SessionServer>>
let rooms = 0
beforeAll(async () => {
  arena = await redisArena()
  quietArena = await redisArena()
  servers = {
    killed: server('killed'),
    stopped: server('stopped'),
    paused: server('paused'),
    survivor: server('survivor'),
    large: server('large', quietArena),
  }
  await Promise.all(Object.values(servers).map((each) => eventually(() => each.of('ready').length > 0)))
})
afterAll(async () => {
  await Promise.all(Object.values(servers).map((each) => each[Symbol.asyncDispose]()))
  await quietArena[Symbol.asyncDispose]()
  await arena[Symbol.asyncDispose]()
})

/** A server in this process, with its own connection. */
function here(name: string, options: SessionsOptions = {}, locker: Partial<LockerOptions> = {}): Sessions {
  const locks = arena.client({ notifier: arena.notifier(), name, ...locker })
  return sessions(locks, { ttl, sharedRoles, silence: '1m', ...options })
}

const server = (name: string, { server: { port }, prefix } = arena): SessionServer =>
  new SessionServer({ port, prefix }, name, ttl)

/** How many scripts a Redis has run. */
async function scriptCalls({ command }: RedisArena): Promise<number> {
  const stats = String(await command('INFO', 'commandstats'))
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

/** A room for each test. */
const room = (): string => `room-${++rooms}`

const readers = (resource: string, name: string, count: number): readonly EnterOptions[] =>
  Array.from({ length: count }, (_, at) => ({
    resource,
    role: 'reader',
    userId: `${name}-${at}`,
    sessionId: `${name}-${at}`,
  }))

async function entered(by: Sessions, options: EnterOptions): Promise<Session> {
  const outcome = await by.enter(options)
  if (outcome.type === 'held') throw new Error(`${outcome.by.userId} has the role`)
  return outcome.session
}

/** Counts who joins and leaves from now on, and how often. */
async function counted(by: Sessions, resource: string) {
  const joined = new Map<string, number>()
  const left = new Map<string, number>()
  let isWatching = false
  by.watch(resource, (event) => {
    isWatching ||= event.type === 'present'
    const counts = event.type === 'joined' ? joined : event.type === 'left' ? left : undefined
    if (counts && 'member' in event) counts.set(event.member.userId, (counts.get(event.member.userId) ?? 0) + 1)
  })
  await eventually(() => isWatching)
  return { joined, left }
}

const times = (counts: ReadonlyMap<string, number>): readonly number[] => [...new Set(counts.values())]

// The soak measures the cost of the last one, so nothing runs beside it.
describe('with servers and clients that fail', { concurrent: !soak }, () => {
  describe('T-57: the members of a server that', () => {
    it.each([
      ['is killed are gone within the ttl and a second', 'killed', ttl + 1_000],
      ['stops are gone within a second', 'stopped', 1_000],
    ] as const)('%s, and nobody else is touched', async (_, name, withinMs) => {
      const resource = room()
      const watcher = here('watcher')
      const { joined, left } = await counted(watcher, resource)
      await servers[name].enter(readers(resource, 'first', 50))
      await servers.survivor.enter(readers(resource, resource, 50))
      await eventually(() => joined.size === 100)

      const sinceMs = performance.now()
      if (name === 'killed') servers.killed.signal('SIGKILL')
      else void servers.stopped.close()
      while ((await watcher.members(resource)).length > 50) {
        expect(performance.now() - sinceMs).toBeLessThan(limit(withinMs))
        await elapse(50)
      }
      await eventually(() => left.size === 50, withinMs + 4_000)
      await elapse(ttl / 2)
      const members = await watcher.members(resource)
      expect(members.filter(({ userId }) => userId.startsWith(resource))).toHaveLength(50)
      expect([members.length, joined.size, times(joined), left.size, times(left)]).toEqual([50, 100, [1], 50, [1]])
      expect(servers.survivor.ends).toEqual({})
      await watcher.close()
    })
  })

  describe('a server that is paused for longer than the ttl', () => {
    it('loses its sessions and tells so. Nobody believes twice, and no session of another is lost', async () => {
      const resource = room()
      const { paused, survivor } = servers
      const writer = { resource, role: 'writer', userId: 'ada', sessionId: 'ada' }
      await paused.enter([writer, ...readers(resource, 'paused', 20)])
      await survivor.enter(readers(resource, resource, 20))
      await eventually(() => paused.of('believed').length > 0)
      paused.signal('SIGSTOP')
      const rival = here('rival')
      let since: number | undefined
      await eventually(async () => {
        const outcome = await rival.enter({ ...writer, userId: 'bob', sessionId: 'bob' })
        since = Date.now()
        return outcome.type === 'entered'
      })
      paused.signal('SIGCONT')
      await eventually(() => paused.of('ended').length === 21)
      await elapse(ttl / 2)
      expect(paused.ends).toEqual({ lost: 21 })
      expect(survivor.ends).toEqual({})
      expect(paused.of('believed').filter(({ atMs }) => atMs > (since ?? 0))).toEqual([])
      expect(await rival.verify(resource, 'writer', 'ada')).toBe(false)
      expect(await rival.members(resource)).toHaveLength(21)
      await rival.close()
    })
  })

  describe('T-58: a socket that is half open', () => {
    it('ends its session within the silence and the ttl. Only then a rival has the role, and others are unaffected', async () => {
      const resource = room()
      const silence = ms(6_000, 1_500)
      const own = here('server', { silence })
      const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
      await once(sockets, 'listening')
      const { port } = sockets.address() as { readonly port: number }
      const held = new Map<string, Session>()
      sockets.on('connection', async (socket, request) => {
        const [role = '', userId = ''] = (request.url ?? '').slice(1).split('/')
        held.set(userId, await entered(own, { resource, role, userId, sessionId: userId, socket }))
      })
      await using proxy = await startTcpProxy({ port })
      const sleeper = new WebSocket(`ws://127.0.0.1:${proxy.port}/writer/ada`)
      const awake = new WebSocket(`ws://127.0.0.1:${port}/reviewer/bob`)
      for (const socket of [sleeper, awake]) socket.on('error', () => undefined)
      await eventually(() => held.size === 2)
      // They are alive without sending messages: they answer pings.
      await elapse(1.5 * silence)
      expect([...held.values()].map(({ end }) => end)).toEqual([undefined, undefined])

      proxy.blackHole()
      const sinceMs = performance.now()
      const rival = here('rival')
      let isHeld = true
      while (isHeld) {
        const before = held.get('ada')?.end
        const outcome = await rival.enter({ resource, role: 'writer', userId: 'cy', sessionId: 'cy' })
        isHeld = outcome.type === 'held'
        if (!isHeld) expect(before ?? held.get('ada')?.end).toBe('silent')
        await elapse(20)
      }
      expect(performance.now() - sinceMs).toBeLessThan(limit(silence + ttl))
      expect(held.get('bob')?.end).toBeUndefined()
      for (const socket of [sleeper, awake]) socket.terminate()
      await Promise.all([own.close(), rival.close()])
      sockets.close()
    })
  })

  // Each alone: these are about the order of a few commands.
  describe('T-60: a clean-up that is cut short', { concurrent: false }, () => {
    // 120 sessions leave in a few commands. The link is cut at each of these points, and stays cut.
    it.each([
      ['request', 0],
      ['request', 1],
      ['reply', 1],
      ['request', 2],
      ['reply', 2],
    ] as const)(
      'after %s %i of it heals itself: members, roles and locks agree after the ttl and a second',
      async (what, after) => {
        const resource = room()
        await using proxy = await startTcpProxy({ port: arena.server.port })
        const own = here('server', {}, { store: arena.store(proxy.port), notifier: undefined })
        const watcher = here('watcher')
        const { joined, left } = await counted(watcher, resource)
        await entered(own, { resource, role: 'writer', userId: 'ada', sessionId: 'ada' })
        await Promise.all(readers(resource, 'user', 119).map((options) => entered(own, options)))
        await entered(watcher, { resource, role: 'reader', userId: 'stays', sessionId: 'stays' })
        // Whoever comes and goes between two looks is never reported.
        await eventually(() => joined.size === 121)

        const sinceMs = performance.now()
        const cut = (async () => {
          for (let seen = 0; seen < after; seen++) await (what === 'request' ? proxy.nextRequest() : proxy.nextReply())
          proxy.refuse()
          proxy.cut()
        })()
        const closing = own.close()
        await Promise.race([cut, closing])
        while ((await watcher.members(resource)).length > 1) {
          expect(performance.now() - sinceMs).toBeLessThan(limit(ttl + 1_000))
          await elapse(50)
        }
        expect(await watcher.holderOf(resource, 'writer')).toBeNull()
        await entered(watcher, { resource, role: 'writer', userId: 'bob', sessionId: 'bob' })
        await eventually(() => left.size === 120)
        expect(times(left)).toEqual([1])
        await watcher.close()
        // The count matches what is there, and all of it expires.
        const keys = ['entries', 'room'].map((name) => `{${arena.prefix}${resource}}:${name}`)
        const expiries = await Promise.all(keys.map((key) => arena.command('PTTL', key)))
        for (const expiry of expiries) expect(expiry).not.toBe(-1)
      },
    )
  })

  describe('many sessions on one server', () => {
    it('are renewed in few commands, none is lost, and what they cost is printed', async () => {
      const count = rounds(10_000, 2_000)
      const { large: server } = servers
      const baseline = (await server.measure()).heapBytes
      for (let at = 0; at < count; at += 500) {
        const resources = Array.from({ length: 10 }, () => room())
        expect(await server.enter(resources.flatMap((resource) => readers(resource, resource, 50)))).toBe(500)
      }
      await elapse(ttl)
      await server.measure()
      const [calls, sinceMs] = [await scriptCalls(quietArena), performance.now()]
      await elapse((soak ? 10 : 3) * ttl)
      const intervals = (performance.now() - sinceMs) / (ttl / 3)
      const perInterval = ((await scriptCalls(quietArena)) - calls) / intervals
      const found = await server.measure()
      const bytes = (found.heapBytes - baseline) / count
      console.log(
        `${count} sessions, renewed each ${Math.round(ttl / 3)} ms: ${perInterval.toFixed(1)} script calls an interval, ` +
          `event-loop delay p99 ${found.delayP99Ms.toFixed(1)} ms, max ${found.delayMaxMs.toFixed(1)} ms, ` +
          `${Math.round(bytes)} bytes a session`,
      )
      expect(found.size).toBe(count)
      expect(server.ends).toEqual({})
      expect(perInterval).toBeLessThanOrEqual(1.2 * Math.ceil(count / 100))
      expect(bytes).toBeLessThan(8_000)
    })
  })
})

describe('T-59: several tabs of a user', () => {
  it('are one presence, on whichever servers: one join and one leave', async () => {
    const resource = room()
    const { random } = seededRandom()
    const [first, second, watcher] = [here('a'), here('b'), here('c')]
    const own = () => (random() < 0.5 ? first : second)
    const { joined, left } = await counted(watcher, resource)
    const count = rounds(100, 15)
    for (let round = 1; round <= count; round++) {
      const open = async (tab: number): Promise<Session> => {
        await elapse(random() * 5)
        return entered(own(), { resource, role: 'writer', userId: 'ada', sessionId: `tab-${tab}` })
      }
      const isPresent = async () => (await watcher.holderOf(resource, 'writer'))?.userId === 'ada'
      const tabs = await Promise.all([open(1), open(2), open(3)])
      const [kept, ...others] = tabs.sort(() => random() - 0.5) as [Session, ...Session[]]
      await Promise.all(others.map((tab) => tab.leave()))
      expect(await isPresent()).toBe(true)
      const again = await open(4)
      await eventually(() => joined.get('ada') === round)
      await Promise.all([kept.leave(), again.leave()])
      expect(await isPresent()).toBe(false)
      await eventually(() => left.get('ada') === round)
      const free = await entered(second, { resource, role: 'writer', userId: 'bob', sessionId: 'bob' })
      await free.leave()
    }
    expect([joined.get('ada'), left.get('ada')]).toEqual([count, count])
    await Promise.all([first, second, watcher].map((each) => each.close()))
  })
})

describe('taking over from a user with hundreds of sessions', () => {
  it('takes few steps for each: Redis does nothing else meanwhile', async () => {
    const resource = room()
    const [own, rival] = [here('own'), here('rival')]
    const count = 300
    const writer = { resource, role: 'writer', userId: 'ada' }
    const tabs = Array.from({ length: count }, (_, at) => entered(own, { ...writer, sessionId: `tab-${at}` }))
    await Promise.all(tabs)
    const lookUps = async (): Promise<number> =>
      Number(/cmdstat_hget:calls=(\d+)/.exec(String(await arena.command('INFO', 'commandstats')))?.[1])
    const before = await lookUps()
    await entered(rival, { ...writer, userId: 'bob', sessionId: 'bob', takeOver: 'anyone' })
    expect((await lookUps()) - before).toBeLessThan(10 * count)
    expect(await rival.members(resource)).toMatchObject([{ userId: 'bob' }])
    await Promise.all([own, rival].map((each) => each.close()))
  })
})

describe('when an entry is evicted', () => {
  it.each(['entries', 'room'])(
    'or half of what is known of a room (%s), nobody stays who is not there',
    async (name) => {
      const resource = room()
      const [first, second] = [here('first'), here('second')]
      const writer = { resource, role: 'writer', userId: 'ada', sessionId: 'ada' }
      const session = await entered(first, writer)
      await arena.command('DEL', `{${arena.prefix}${resource}}:${name}`)
      expect(await second.members(resource)).toEqual([])
      await entered(second, { ...writer, userId: 'bob' })
      expect(await session.ended).toBe('lost')
      expect(await second.members(resource)).toMatchObject([{ userId: 'bob' }])
      await Promise.all([first.close(), second.close()])
    },
  )
})

describe('a storm of reconnects', () => {
  it('moves every session to another server once; the late ends of the old sockets evict nobody', async () => {
    const [first, second] = [here('first'), here('second')]
    const count = rounds(5_000, 500)
    const all = Array.from({ length: 20 }, () => room()).flatMap((resource) => readers(resource, resource, count / 20))
    const before = await Promise.all(all.map((options) => entered(first, options)))
    const sinceMs = performance.now()
    const after = await Promise.all(
      all.map(async (options, at) => {
        const session = await entered(second, options)
        await elapse(at % 10)
        void before[at]?.leave()
        return session
      }),
    )
    console.log(`${count} sessions moved in ${Math.round(performance.now() - sinceMs)} ms`)
    await eventually(() => first.size === 0)
    expect(after.every(({ isValid }) => isValid)).toBe(true)
    const resources = [...new Set(all.map(({ resource }) => resource))]
    const members = await Promise.all(resources.map((resource) => first.members(resource)))
    expect(members.flat().filter(({ sessions: own }) => own[0]?.server === 'second' && own.length === 1)).toHaveLength(
      count,
    )
    await Promise.all([first.close(), second.close()])
  })
})
