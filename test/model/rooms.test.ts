import { memoryStore } from '@leasehold/core/memory'
import { type EnterOutcome, type LookRoomOutcome, type PresenceStore, presenceOf } from '@leasehold/core/presence'
import { ioredisStore } from '@leasehold/ioredis'
import { callUntil, seededRandom } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quiet } from '../support/quiet.ts'
import { rounds, soak } from '../support/scale.ts'

/* The memory store is the model of the scripts: both give the same answer to any request about a room. */

let server: RedisServer
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = quiet(new Redis(server.port))
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

const call = () => callUntil(new AbortController().signal)

/** A room in one store, whose entries are identified by the numbers of their enters. */
class Room {
  readonly #port: PresenceStore
  readonly #key: string
  readonly #tokens = new Map<number, string>()

  constructor(port: PresenceStore, key: string) {
    this.#port = port
    this.#key = key
  }

  async enter(number: number, who: object): Promise<string> {
    const acquisitionId = number.toString(16).padStart(32, '0')
    const request = { key: this.#key, acquisitionId, ttlMs: 60_000, ...who } as Parameters<PresenceStore['enter']>[0]
    const outcome: EnterOutcome = await this.#port.enter(request, call())
    if (outcome.type === 'granted') this.#tokens.set(number, outcome.token)
    return outcome.type === 'held' ? `held by ${outcome.by.userId}` : outcome.type
  }

  async renew(numbers: readonly number[]): Promise<readonly unknown[]> {
    const requests = numbers.flatMap((number) => {
      const token = this.#tokens.get(number)
      return token ? [{ key: this.#key, token, ttlMs: 60_000 }] : []
    })
    return (await this.#port.renew(requests, call())).map(({ type }) => type)
  }

  async leave(number: number, whole: boolean): Promise<unknown> {
    const token = this.#tokens.get(number)
    const entry = whole && token ? { token } : { acquisitionId: number.toString(16).padStart(32, '0') }
    return (await this.#port.leave([{ key: this.#key, ...entry }], call()))[0]?.type
  }

  async look(about: object): Promise<readonly string[]> {
    const [outcome] = (await this.#port.look([{ key: this.#key, ...about }], call())) as [LookRoomOutcome]
    if (outcome.type !== 'room') return [outcome.type]
    return outcome.entries.map((each) => `${each.role} ${each.userId} ${each.sessionId} ${each.exclusive}`).sort()
  }
}

const stores = (): readonly [PresenceStore, PresenceStore] =>
  [memoryStore(), ioredisStore(redis)].map(presenceOf) as [PresenceStore, PresenceStore]

describe.each([
  ['the model', 0],
  ['the scripts', 1],
] as const)('a room of %s', (name, at) => {
  const reader = (session: number) => {
    const id = String(session)
    return { role: 'reader', exclusive: false, userId: id, sessionId: id, takeOver: 'nobody' }
  }
  const full = 10_000
  const numbers = Array.from({ length: full }, (_, session) => session)

  // Each enter of the model goes through all entries: seconds of work. A unit test fills one at once.
  it.skipIf(at === 0 && !soak)(
    'has 10,000 sessions. All may reconnect at once, and a place is free as soon as one leaves',
    async () => {
      const room = new Room(stores()[at], `full-${name}`)
      const enter = (number: number, session: number): Promise<string> => room.enter(number, reader(session))
      const first = await Promise.all(numbers.map((session) => enter(session, session)))
      expect(new Set(first)).toEqual(new Set(['granted']))
      expect(await enter(full, full)).toBe('refused')
      // So many that the room would be over its limit if the entries that they displace counted.
      const again = numbers.slice(0, rounds(full, 500))
      const second = await Promise.all(again.map((session) => enter(2 * full + session, session)))
      expect(new Set(second)).toEqual(new Set(['granted']))
      expect(await enter(full + 1, full)).toBe('refused')
      expect(await room.leave(2 * full, true)).toBe('released')
      expect(await enter(full + 2, full)).toBe('granted')
      expect(await enter(full + 3, 0)).toBe('refused')
      expect(await room.look({})).toHaveLength(full)
    },
  )

  // Filling it takes three times as long as the rest.
  it.skipIf(!soak)('keeps 30,000 entries, with those that were displaced, and refuses more', async () => {
    const room = new Room(stores()[at], `kept-${name}`)
    for (let entry = 0; entry < 3 * full; entry += full) {
      const outcomes = numbers.map((each) => room.enter(entry + each, reader(each % 5_000)))
      expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['granted']))
    }
    expect(await room.enter(3 * full, reader(0))).toBe('refused')
    expect(await room.look({})).toHaveLength(5_000)
  })
})

it('the scripts answer as the model does, whatever is asked', async () => {
  const { random } = seededRandom()
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const [model, real] = stores()
  let entered = 0
  for (let run = 0; run < rounds(200, 5); run++) {
    const both = [new Room(model, `room-${run}`), new Room(real, `room-${run}`)] as const
    const ask = async (what: string, question: (room: Room) => Promise<unknown>): Promise<void> => {
      const [expected, found] = await Promise.all(both.map(question))
      expect(found, `run ${run}: ${what}`).toEqual(expected)
    }
    const first = entered
    const known = (): number => first + 1 + Math.floor(random() * Math.max(1, entered - first))
    for (let step = 0; step < 60; step++) {
      const [exclusive, role] = pick([
        [true, 'writer'],
        [true, 'reviewer'],
        [false, 'reader'],
      ] as const)
      const userId = pick(['ada', 'bob', 'cy'])
      const takeOver = pick(['nobody', 'nobody', 'mine', 'anyone'])
      const who = { role, exclusive, userId, sessionId: pick(['1', '2']), takeOver }
      const [again, numbers, whole] = [known(), [known(), known(), known()], random() < 0.8]
      await pick([
        () => ask(`enter ${JSON.stringify(who)}`, (room) => room.enter(entered + 1, who)),
        () => ask(`enter ${JSON.stringify(who)}`, (room) => room.enter(entered + 1, who)),
        () => ask(`enter ${again} once more`, (room) => room.enter(again, who)),
        () => ask(`renew ${numbers}`, (room) => room.renew(numbers)),
        () => ask(`leave ${again}`, (room) => room.leave(again, whole)),
        () => ask(`who has ${role}`, (room) => room.look({ role, ...(exclusive ? {} : { userId }) })),
        () => ask(`${userId} has ${role}`, (room) => room.look({ role, userId })),
      ])()
      entered++
      await ask('who is here', (room) => room.look({}))
    }
  }
})
