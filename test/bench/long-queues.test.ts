import type { QueueKind } from '@leasehold/core/queue'
import { redisStore } from '@leasehold/core/redis'
import { ioredisStore, ioredisTransport } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { countedTransport, type Touched } from '../support/counted-scripts.ts'
import { LongQueue, type Member } from '../support/long-queue.ts'
import { elapse, eventually, rounds } from '../support/scale.ts'

/*
 * A script does the same work however many wait. The work is counted, not timed: the commands that a script calls, and
 * the values that go into them and come out.
 */

const exclusive: QueueKind = { name: 'exclusive', capacity: 1 }
const semaphore: QueueKind = { name: 'semaphore', capacity: 3 }
const readWrite: QueueKind = { name: 'read-write', capacity: 1_000_000 }
const kinds = [exclusive, semaphore, readWrite]
/** One call gives at most so many turns, and drops at most so many waiters. */
const most = 100
/** One call drops at most so many holders. */
const mostHolders = 1_000

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})
beforeEach(() => client.flushall())

/** Requests whose work is not counted, about the lock `key`. */
const queueAt = (key: string, kind: QueueKind): LongQueue => new LongQueue(ioredisStore(client), key, kind)

type Work = Readonly<Record<string, Touched>>

/** Requests whose work is counted. `change` changes the scripts, to show that the count notices it. */
class Counted {
  readonly work: Record<string, Touched> = {}
  readonly #change: ((script: string) => string) | undefined
  #last: Touched | undefined

  constructor(change?: (script: string) => string) {
    this.#change = change
  }

  queueAt(key: string, kind: QueueKind): LongQueue {
    const onCounted = (touched: Touched): void => {
      this.#last = touched
    }
    const transport = countedTransport(ioredisTransport(client), onCounted, this.#change)
    return new LongQueue(redisStore(transport), key, kind)
  }

  /** Carries out one request, and notes its work under a name. */
  async the<T>(name: string, request: Promise<T>): Promise<T> {
    const answer = await request
    this.work[name] = this.#last as Touched
    return answer
  }
}

/** One waiter to a process: where a process has several, a script's work depends a little on which of them it meets. */
const member = (number: number): Member => ({ process: number, number })
const stranger: Member = { process: 1_000_000, number: 1_000_000 }

/** The work of each script while so many wait, all of them alive. */
async function workBeside(waiting: number, kind: QueueKind, change?: (script: string) => string): Promise<Work> {
  await client.flushall()
  const given = queueAt('long', kind)
  const token = await given.take(0, kind.capacity)
  await given.enter(Array.from({ length: waiting }, (_, number) => member(number)))
  const counted = new Counted(change)
  const queue = counted.queueAt('long', kind)
  const middle = member(waiting / 2)
  expect(await counted.the('acquire, without waiting', queue.try(1, 1))).toMatchObject({ type: 'held' })
  expect(await counted.the('acquire, of another process', queue.ask(stranger))).toMatchObject({ position: waiting })
  const another = { process: 0, number: waiting }
  expect(await counted.the('acquire', queue.ask(another))).toMatchObject({ position: waiting + 1 })
  expect(await counted.the('repeat, in front', queue.ask(member(0)))).toMatchObject({ position: 0 })
  expect(await counted.the('repeat, in the middle', queue.ask(middle))).toMatchObject({ position: waiting / 2 })
  expect(await counted.the('repeat, of the holder', queue.try(0, kind.capacity))).toMatchObject({ token })
  expect(await counted.the('look', queue.look(member(0), [0, waiting]))).toMatchObject({ turns: [], missing: [] })
  expect(await counted.the('renew', queue.renew(token))).toBe('renewed')
  expect(await counted.the('leave', queue.leave(middle))).toEqual({ type: 'left' })
  expect(await counted.the('release', queue.release(token))).toBe('released')
  expect(await counted.the('leave, with the turn', queue.leave(member(0)))).toEqual({ type: 'left' })
  expect(await counted.the('look, with the turn', queue.look(member(1), [1]))).toMatchObject({ missing: [] })
  expect(await counted.the('acquire, with the turn', queue.ask(member(1)))).toMatchObject({ type: 'granted' })
  if (kind === semaphore) expect(await counted.the('resize', queue.resize(4))).toBe('resized')
  expect(await counted.the('inspect', queue.waiting())).toBe(waiting - 1)
  return counted.work
}

describe.each(kinds)('a script does the same work however many wait, for a lock of kind $name:', (kind) => {
  it('to acquire, repeat, look, renew, leave, release, resize and inspect', async () => {
    const [some, many] = [await workBeside(2 * most, kind), await workBeside(rounds(5_000, 1_000), kind)]
    console.log(workIn(many))
    expect(many).toEqual(some)
    // With ten, an inspection shows fewer. Of ten readers, all get the turn at once.
    if (kind !== readWrite) expect(await workBeside(10, kind)).toEqual({ ...many, inspect: expect.anything() })
  })

  it('which is counted: a script that reads the whole queue is noticed', async () => {
    const readAll = (script: string): string => script.replaceAll(/,'LIMIT',0,1\)\[1\]/g, ')[1]')
    const [some, many] = [await workBeside(2 * most, kind, readAll), await workBeside(3 * most, kind, readAll)]
    expect(many['acquire']?.values).toBeGreaterThanOrEqual(Number(some['acquire']?.values) + most)
  })
})

it('a script that gives all turns at once is noticed', async () => {
  const givesAll = (script: string): string => script.replace('1e15,100,100,', '1e15,1000000,100,')
  const [some, many] = [
    await workBeside(2 * most, readWrite, givesAll),
    await workBeside(3 * most, readWrite, givesAll),
  ]
  expect(many['release']?.commands).toBeGreaterThanOrEqual(Number(some['release']?.commands) + most)
})

const workIn = (work: Work): string =>
  Object.entries(work)
    .map(([name, { commands, values }]) => `${name}: ${commands} commands, ${values} values`)
    .join('; ')

/** Copies a lock and its queue. */
async function copy(from: string, to: string): Promise<void> {
  for (const name of await client.keys(`*lock:${from}*`)) await client.copy(name, name.replace(from, to))
}

const alive: readonly Member[] = [0, 1, 2].map((number) => ({ process: 1, number: 1_000_000 + number }))
const [firstAlive, , lastAlive] = alive as [Member, Member, Member]

/** What each script did with so many dead in front of three others, and what it said. */
interface Reaping {
  readonly work: Work
  /** The scripts after which so many were left as there were, less what one call drops. */
  readonly bounded: readonly string[]
  /** The scripts that said that more are left: in their answer, or on the lock's release channel. */
  readonly said: readonly string[]
  /** How many looks it took until the first of the living had the turn, and the most work of one. */
  readonly looks: number
  readonly mostOfLooks: Touched
}

async function reaping(dead: number, change?: (script: string) => string): Promise<Reaping> {
  await client.flushall()
  const [kind, given] = [semaphore, queueAt('dead', semaphore)]
  const tokens = [await given.take(0, 2), await given.take(1, 1)] as const
  // Their process lets a turn pass. So all of them are void.
  const crowd = Array.from({ length: dead }, (_, number) => ({ process: 0, number, windowMs: 1 }))
  await given.enter([...crowd, ...alive])
  await given.release(tokens[1])
  await elapse(5)

  const counted = new Counted(change)
  const bounded: string[] = []
  const said: string[] = []
  await using listening = await listen()
  const calls: Record<string, (queue: LongQueue) => Promise<unknown>> = {
    'acquire, without waiting': (queue) => queue.try(2, 1),
    acquire: (queue) => queue.ask(stranger),
    repeat: (queue) => queue.ask(firstAlive),
    look: (queue) => queue.look(firstAlive, [firstAlive.number]),
    leave: (queue) => queue.leave(lastAlive),
    release: (queue) => queue.release(tokens[0]),
    resize: (queue) => queue.resize(4),
  }
  const entered: Readonly<Record<string, number>> = { acquire: 1, leave: -1 }
  for (const [name, call] of Object.entries(calls)) {
    await copy('dead', name)
    const answer = await counted.the(name, call(counted.queueAt(name, kind)))
    const left = await queueAt(name, kind).waiting()
    if (left === dead + alive.length + (entered[name] ?? 0) - most) bounded.push(name)
    if ((answer as { readonly againInMs?: number }).againInMs === 0) said.push(name)
  }
  for (const name of await listening.heard()) said.push(name)

  let [looks, turns, mostOfLooks]: [number, readonly number[], Touched] = [0, [], { commands: 0, values: 0 }]
  const queue = counted.queueAt('dead', kind)
  while (turns.length === 0) {
    const looked = await counted.the('a look of many', queue.look(firstAlive, [firstAlive.number]))
    if (looked.type !== 'looked') throw new Error(`A look was answered: ${looked.type}`)
    turns = looked.turns
    looks++
    const { commands, values } = counted.work['a look of many'] as Touched
    mostOfLooks = { commands: Math.max(mostOfLooks.commands, commands), values: Math.max(mostOfLooks.values, values) }
    // Who is told to look again at once does so; anybody else would wait.
    expect(looked.againInMs === 0).toBe(turns.length === 0)
  }
  expect(turns).toEqual([firstAlive.number])
  const { 'a look of many': _, ...work } = counted.work
  return { work, bounded, said, looks, mostOfLooks }
}

/** Who is made to look by an announcement, by the locks' names. */
async function listen(): Promise<AsyncDisposable & { heard(): Promise<readonly string[]> }> {
  const listener = new Redis(server.port)
  const channels: string[] = []
  listener.on('pmessage', (_, channel: string) => channels.push(channel.replace('lock:release:', '')))
  await listener.psubscribe('lock:release:*')
  return {
    async heard() {
      await client.publish('lock:release:end', '')
      await eventually(() => channels.includes('end'))
      return channels.filter((name) => name !== 'end')
    },
    async [Symbol.asyncDispose]() {
      listener.disconnect()
    },
  }
}

describe('with many dead waiters in front', () => {
  it('each script drops a hundred, does no more work than that, and says that more are left', async () => {
    const many = rounds(5_000, 500)
    const [some, all] = [await reaping(2 * most), await reaping(many)]
    console.log(`${many} dead, ${all.looks} looks: ${workIn(all.work)}`)
    expect(all.work).toEqual(some.work)
    expect(all.bounded).toEqual(Object.keys(all.work))
    // Whoever does not wait has nothing to look for.
    expect(all.said.toSorted()).toEqual(['acquire', 'leave', 'look', 'release', 'repeat', 'resize'])
    expect(all.looks).toBe(many / most)
    // The last one also gives the turn.
    expect(all.mostOfLooks.commands).toBeLessThan(1.1 * Number(all.work['look']?.commands))
    expect(all.mostOfLooks.values).toBeLessThan(1.1 * Number(all.work['look']?.values))
  })

  it('which is counted: a script that drops all is noticed', async () => {
    const dropsAll = (script: string): string => script.replace('1e15,100,100,', '1e15,100,1000000,')
    const [some, many] = [await reaping(2 * most, dropsAll), await reaping(3 * most, dropsAll)]
    expect(many.work['look']?.commands).toBeGreaterThanOrEqual(Number(some.work['look']?.commands) + most)
    expect([many.bounded, many.said, many.looks]).toEqual([[], [], 1])
  })
})

describe('with many holders whose leases have ended', () => {
  /** The work of calls until all are dropped. */
  async function dropping(holders: number): Promise<readonly Touched[]> {
    await client.flushall()
    const kind: QueueKind = { name: 'semaphore', capacity: holders }
    const given = queueAt('ended', kind)
    const tokens = await Promise.all(Array.from({ length: holders }, (_, holder) => given.take(holder, 1)))
    expect(new Set(tokens).size).toBe(holders)
    await given.enter([firstAlive])
    // All end at once, as those of a process that has died.
    await client.zunionstore('lock:ended', 1, 'lock:ended', 'WEIGHTS', 0)
    const counted = new Counted()
    const queue = counted.queueAt('ended', kind)
    const work: Touched[] = []
    for (;;) {
      const looked = await counted.the('look', queue.look(firstAlive, [firstAlive.number]))
      work.push(counted.work['look'] as Touched)
      if (looked.type !== 'looked' || looked.againInMs !== 0) return work
    }
  }

  it('each call drops a thousand, and says that more are left', async () => {
    const many = rounds(5_500, 1_300)
    const [some, all] = [await dropping(mostHolders + 100), await dropping(many)]
    console.log(`${many} holders: ${all.map(({ values }) => values).join(', ')} values`)
    expect(all).toHaveLength(Math.ceil(many / mostHolders))
    expect(all[0]).toEqual(some[0])
  })
})
