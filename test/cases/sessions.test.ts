import { once } from 'node:events'
import type { LockerOptions } from '@leasehold/core'
import { type EnterOptions, type Session, type Sessions, type SessionsOptions, sessions } from '@leasehold/sessions'
import { seededRandom, startTcpProxy } from '@leasehold/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { type RedisArena, redisArena } from '../support/arena.ts'
import { lockstepWay } from '../support/lockstep-way.ts'
import { elapse, eventually, limit, ms, rounds, soak } from '../support/scale.ts'
import { SessionServer } from '../support/session-server.ts'

/*
 * WebSocket sessions on several servers, which are killed, stopped, paused and cut off; and clients that fall silent
 * without notice. Servers in other processes serve real sockets. Those in this process, where a test needs what only
 * the server knows, have none, unless it is about them.
 */

const ttl = ms(3_000, 2_500)
/** For a server that stops. If it released nothing, its entries would outlast the limit, even that of `npm test`. */
const stoppedTtl = ms(3_000, 10_000)
/** For a server with so many sessions that a busy machine needs seconds for them. */
const largeTtl = ms(3_000, 6_000)
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
    stopped: server('stopped', arena, stoppedTtl),
    paused: server('paused'),
    survivor: server('survivor'),
    large: server('large', quietArena, largeTtl),
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

const server = (name: string, { server: { port }, prefix } = arena, ttlMs = ttl): SessionServer =>
  new SessionServer({ port, prefix }, name, ttlMs)

/** Has clients with a socket each enter, all at once. */
const allEnter = (by: SessionServer, entering: readonly EnterOptions[]): Promise<readonly WebSocket[]> =>
  Promise.all(entering.map((options) => by.enter(options)))

/** How many scripts a Redis has run. */
async function scriptCalls({ command }: RedisArena): Promise<number> {
  const stats = String(await command('INFO', 'commandstats'))
  const calls = Array.from(stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm), ([, count]) => Number(count))
  return calls.reduce((sum, count) => sum + count, 0)
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

/** What Redis keeps of a room agrees: this user alone is there, of all else there are only marks, and all of it expires. */
async function expectRoomOf(userId: string, resource: string): Promise<void> {
  const [entries, known] = ['entries', 'room'].map((name) => `{${arena.prefix}${resource}}:${name}`) as [string, string]
  const members = (await arena.command('ZRANGE', entries, 0, -1)) as readonly string[]
  const flat = (await arena.command('HGETALL', known)) as readonly string[]
  const fields = new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : [])))
  const described = [...fields].filter(([name]) => name.startsWith('e:'))
  const marked = described.filter(([, text]) => !text.startsWith('in\n'))
  expect(described.map(([name]) => name.slice(2)).sort()).toEqual([...members].sort())
  expect(described.length - marked.length).toBe(1)
  expect([fields.get('n'), fields.get('m')]).toEqual([String(described.length), String(marked.length)])
  const owned = [...fields.keys()].filter((name) => /^[usr]:/.test(name)).sort()
  expect(owned).toEqual([`s:${userId}\n${userId}`, `u:${userId}`])
  for (const key of [entries, known]) expect(await arena.command('PTTL', key)).toBeGreaterThan(0)
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
      await allEnter(servers[name], readers(resource, 'first', 50))
      await allEnter(servers.survivor, readers(resource, resource, 50))
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
      await allEnter(paused, [writer, ...readers(resource, 'paused', 20)])
      await allEnter(survivor, readers(resource, resource, 20))
      await eventually(() => paused.of('believed').length > 0)
      paused.signal('SIGSTOP')
      const rival = here('rival')
      let since: number | undefined
      await eventually(async () => {
        const outcome = await rival.enter({ ...writer, userId: 'bob', sessionId: 'bob' })
        since = Date.now()
        return outcome.type === 'entered'
      })
      // They entered one by one, so the last entries expire a little later.
      await eventually(async () => (await rival.members(resource)).length === 21)
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
    // 120 sessions leave in two commands. The link is cut at each of these points, and stays cut.
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
        await using way = await lockstepWay(arena.server.port)
        const own = here('server', {}, { store: arena.store(way.port), notifier: undefined })
        const watcher = here('watcher')
        const { joined, left } = await counted(watcher, resource)
        await entered(own, { resource, role: 'writer', userId: 'ada', sessionId: 'ada' })
        await Promise.all(readers(resource, 'user', 119).map((options) => entered(own, options)))
        await entered(watcher, { resource, role: 'reader', userId: 'stays', sessionId: 'stays' })
        // Whoever comes and goes between two looks is never reported.
        await eventually(() => joined.size === 121)

        const sinceMs = performance.now()
        const cut = way.cutAfter(what, after).then(() => 'cut')
        const closing = own.close().then(() => 'closed')
        expect(await Promise.race([cut, closing])).toBe('cut')
        while ((await watcher.members(resource)).length > 1) {
          expect(performance.now() - sinceMs).toBeLessThan(limit(ttl + 1_000))
          await elapse(50)
        }
        expect(await watcher.holderOf(resource, 'writer')).toBeNull()
        const successor = await entered(watcher, { resource, role: 'writer', userId: 'bob', sessionId: 'bob' })
        await eventually(() => left.size === 120)
        expect(times(left)).toEqual([1])
        await successor.leave()
        await expectRoomOf('stays', resource)
        await watcher.close()
      },
    )
  })

  describe('many sessions on one server', () => {
    it('are renewed in few commands, none is lost, and what they cost is printed', async () => {
      const count = rounds(10_000, 2_000)
      const { large: server } = servers
      const clients: WebSocket[] = []
      while (clients.length < count) {
        clients.push(...(await Promise.all(Array.from({ length: 500 }, () => server.connect()))))
      }
      let baseline = 0
      for (let at = 0; at < count; at += 500) {
        // The sockets are there without sessions, and the code that the first sessions have compiled stays, too.
        if (at === 500) baseline = (await server.measure()).heapBytes
        const entering = Array.from({ length: 10 }, () => room()).flatMap((resource) => readers(resource, resource, 50))
        await Promise.all(entering.map((options, each) => server.enter(options, clients[at + each])))
      }
      await elapse(largeTtl)
      await server.measure()
      const [calls, sinceMs] = [await scriptCalls(quietArena), performance.now()]
      // At the ends of a short time, batches count that belong to no whole interval.
      await elapse((soak ? 10 : 4) * largeTtl)
      const intervals = (performance.now() - sinceMs) / (largeTtl / 3)
      const perInterval = ((await scriptCalls(quietArena)) - calls) / intervals
      const found = await server.measure()
      const bytes = (found.heapBytes - baseline) / (count - 500)
      console.log(
        `${count} sessions with a socket each, renewed each ${Math.round(largeTtl / 3)} ms: ` +
          `${perInterval.toFixed(1)} script calls an interval, ` +
          `event-loop delay p99 ${found.delayP99Ms.toFixed(1)} ms, max ${found.delayMaxMs.toFixed(1)} ms, ` +
          `${Math.round(bytes)} bytes a session`,
      )
      expect(server.ends).toEqual({})
      expect(found.size).toBe(count)
      expect(perInterval).toBeLessThanOrEqual(1.2 * Math.ceil(count / 100))
      expect(bytes).toBeLessThan(8_000)
      // A process may not have many more files open.
      for (const client of clients) client.terminate()
    })
  })
})

describe('what is asked of the store', () => {
  it('to verify a user of another server, to find who has a role, and to list the members is one read each', async () => {
    await using quiet = await redisArena()
    // No renewal comes in between.
    const [own, other] = [
      here('own', { ttl: '5m' }, { store: quiet.store(), notifier: undefined }),
      here('other', { ttl: '5m' }, { store: quiet.store(), notifier: undefined }),
    ]
    const resource = room()
    await entered(own, { resource, role: 'writer', userId: 'ada', sessionId: 'ada' })
    // From now on, Redis has the text of the script.
    await other.members(resource)
    async function reads<T>(ask: () => Promise<T>): Promise<readonly [T, number]> {
      const before = await scriptCalls(quiet)
      return [await ask(), (await scriptCalls(quiet)) - before]
    }
    expect(await reads(() => own.verify(resource, 'writer', 'ada'))).toEqual([true, 0])
    expect(await reads(() => other.verify(resource, 'writer', 'ada'))).toEqual([true, 1])
    expect(await reads(() => other.verify(resource, 'writer', 'bob'))).toEqual([false, 1])
    expect(await reads(() => other.holderOf(resource, 'writer'))).toMatchObject([{ userId: 'ada' }, 1])
    expect(await reads(() => other.members(resource))).toMatchObject([[{ userId: 'ada' }], 1])
    await Promise.all([own, other].map((each) => each.close()))
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
    await using first = server('first')
    await using second = server('second')
    const watcher = here('watcher')
    const resource = room()
    // In the soak, these are more than a room has places for if the entries that they displace counted.
    const all = readers(resource, 'user', rounds(6_000, 500))
    const before = await allEnter(first, all)
    const sinceMs = performance.now()
    await Promise.all(
      all.map(async (options, at) => {
        await second.enter(options)
        await elapse(at % 10)
        before[at]?.terminate()
      }),
    )
    console.log(`${all.length} sessions moved in ${Math.round(performance.now() - sinceMs)} ms`)
    await eventually(() => first.of('ended').length === all.length)
    expect(Object.keys(first.ends)).not.toContain('lost')
    expect(second.ends).toEqual({})
    const members = await watcher.members(resource)
    const moved = members.filter(({ sessions: own }) => own[0]?.server === 'second' && own.length === 1)
    expect([members.length, moved.length]).toEqual([all.length, all.length])
    await watcher.close()
  })
})
