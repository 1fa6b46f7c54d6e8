import { createLocker, StoreUnavailableError } from '@leasehold/core'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { follow, ManualClock, requestLost, ScriptedStore } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  type EnterOptions,
  type RoomEvent,
  type Session,
  type SessionEvent,
  type Sessions,
  type SessionsOptions,
  sessions,
} from './index.ts'

const ttl = 3_000
const silence = 6_000

let clock: ManualClock
let behind: ReturnType<typeof memoryStore>
let events: string[]
let here: Sessions
let there: Sessions

/** The sessions of a server, which reports its events under its name. */
function server(name: string, options: SessionsOptions = {}, store = new ScriptedStore(clock, behind)): Sessions {
  const locks = createLocker({ store, clock, name, notifier: memoryNotifier(behind) })
  const onEvent = ({ type, session }: SessionEvent): void => {
    events.push(`${name} ${type} ${session.userId} ${session.sessionId}`)
  }
  return sessions(locks, { ttl, silence, sharedRoles: ['reader'], clock, onEvent, ...options })
}

beforeEach(() => {
  clock = new ManualClock()
  behind = memoryStore({ clock })
  events = []
  here = server('here')
  there = server('there')
})

const writer = { resource: 'doc', role: 'writer', userId: 'ada', sessionId: 'tab-1' }

async function settled<T>(work: Promise<T>): Promise<T> {
  const following = follow(work, clock)
  await clock.advance(0)
  expect(following.state).toBe('fulfilled')
  return following.value as T
}

async function entered(options: Partial<EnterOptions> = {}, by = here): Promise<Session> {
  const outcome = await settled(by.enter({ ...writer, ...options }))
  expect(outcome.type).toBe('entered')
  return (outcome as { session: Session }).session
}

/** Lets time pass while the clients of these sessions send signs of life. */
async function heard(ms: number, ...alive: readonly Session[]): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    for (const session of alive) session.seen()
    await clock.advance(500)
  }
}

const names = async (by = there): Promise<readonly string[]> =>
  (await settled(by.members('doc'))).map(({ userId, sessions: own }) => `${userId} ${own.length}`)

describe('a role', () => {
  it('has one user at a time, on all servers; who is refused learns who has it', async () => {
    const session = await entered()
    expect(await settled(there.enter({ ...writer, userId: 'bob' }))).toMatchObject({
      type: 'held',
      by: { userId: 'ada', roles: ['writer'], sessions: [{ server: 'here' }] },
    })
    expect(await settled(there.holderOf('doc', 'writer'))).toMatchObject({ userId: 'ada' })
    expect(await settled(there.holderOf('doc', 'reviewer'))).toBeNull()
    await settled(session.leave())
    await entered({ userId: 'bob' }, there)
  })

  it('is kept for as long as the client gives signs of life, and given back when it is silent', async () => {
    const session = await entered()
    await heard(20_000, session)
    expect([session.end, session.isValid]).toEqual([undefined, true])
    expect(session.remaining()).toBeLessThanOrEqual(ttl)
    session.seen()
    await clock.advance(silence - 1_000)
    // Its client stops trusting the session a tenth of the silence before it ends.
    expect([session.remaining(), session.isValid]).toEqual([400, true])
    await clock.advance(600)
    expect([session.remaining(), session.isValid]).toEqual([0, true])
    await clock.advance(401)
    expect([session.end, await session.ended, session.isValid]).toEqual(['silent', 'silent', false])
    expect(await names()).toEqual([])
    expect(events).toEqual(['here entered ada tab-1', 'here silent ada tab-1'])
  })

  it('is given back when its client has been silent for so long, and no later: beats in between do not put it off', async () => {
    const [first, second] = [await entered(), await entered({ role: 'reviewer', sessionId: 'tab-2' })]
    await clock.advance(1_500)
    second.seen()
    await clock.advance(silence - 1_500 + 1)
    expect([first.end, second.end]).toEqual(['silent', undefined])
    await clock.advance(1_500)
    expect(second.end).toBe('silent')
  })

  it('is verified without the store where the session is, and by one look elsewhere', async () => {
    const [store, elsewhere] = [new ScriptedStore(clock, behind), new ScriptedStore(clock, behind)]
    const [own, other] = [server('own', {}, store), server('other', {}, elsewhere)]
    await entered({}, own)
    const before = store.calls.length
    expect(await settled(own.verify('doc', 'writer', 'ada'))).toBe(true)
    expect(store.calls).toHaveLength(before)
    expect(await settled(other.verify('doc', 'writer', 'ada'))).toBe(true)
    expect(await settled(other.verify('doc', 'writer', 'bob'))).toBe(false)
    expect(await settled(other.verify('doc', 'reader', 'ada'))).toBe(false)
    expect([elsewhere.called('presence.look').length, elsewhere.calls.length]).toEqual([3, 3])
  })
})

describe('an enter', () => {
  it('that was answered too late is unknown to its caller, and lets nobody in', async () => {
    const store = new ScriptedStore(clock, behind)
    const own = server('own', {}, store)
    store.next('presence.enter', async (sending) => {
      const answer = await sending.execute()
      clock.block(0.8 * ttl)
      return answer
    })
    const entering = follow(own.enter(writer), clock)
    await clock.advance(0)
    expect(entering.reason).toBeInstanceOf(StoreUnavailableError)
    expect([await names(), own.size]).toEqual([[], 0])
  })
})

describe('a session that comes again', () => {
  it('has the place of its earlier self, whose late end does not evict it', async () => {
    const first = await entered()
    const second = await entered({}, there)
    await first.leave()
    expect(second.isValid).toBe(true)
    expect(await names()).toEqual(['ada 1'])
    await heard(ttl, second)
    expect(events).toEqual(['here entered ada tab-1', 'there entered ada tab-1', 'here left ada tab-1'])
  })

  it('ends its earlier self on another server with its next renewal, and on the same one at once', async () => {
    const first = await entered()
    const second = await entered({}, there)
    await heard(ttl / 2, first, second)
    expect(first.end).toBe('taken-over')
    const third = await entered({}, there)
    expect([second.end, third.end]).toEqual(['taken-over', undefined])
  })

  it('for another role leaves the old one in the same step; refused, it keeps that', async () => {
    const reader = await entered({ role: 'reader' })
    const other = await entered({ userId: 'bob', sessionId: 'b' }, there)
    expect((await settled(here.enter(writer))).type).toBe('held')
    expect(reader.isValid).toBe(true)
    const session = await entered({ takeOver: 'anyone' })
    expect(reader.end).toBe('taken-over')
    await heard(ttl / 2, session, other)
    expect(other.end).toBe('taken-over')
    expect(await settled(there.holderOf('doc', 'writer'))).toMatchObject({ userId: 'ada' })
  })
})

describe('several tabs', () => {
  it('are one presence, and share its role, until the last has left', async () => {
    const tabs = [await entered(), await entered({ sessionId: 'tab-2' }, there), await entered({ sessionId: 'tab-3' })]
    expect(await names()).toEqual(['ada 3'])
    for (const tab of tabs) {
      expect((await settled(here.enter({ ...writer, userId: 'bob' }))).type).toBe('held')
      await settled(tab.leave())
    }
    expect(await names()).toEqual([])
    await entered({ userId: 'bob' })
  })

  it('can give way to the newest', async () => {
    const [first, second] = [await entered(), await entered({ sessionId: 'tab-2', takeOver: 'mine' })]
    expect([first.end, second.end]).toEqual(['taken-over', undefined])
  })

  it('leave by the id of their session, each by itself', async () => {
    const [first, second] = [await entered(), await entered({ sessionId: 'tab-2' })]
    await settled(here.leave({ userId: 'ada', sessionId: 'tab-1' }))
    expect([first.end, second.end]).toEqual(['left', undefined])
    await settled(here.leave({ userId: 'ada', sessionId: 'nobody' }))
  })

  it('are told from those of another user with the same id: that neither ends them nor keeps them alive', async () => {
    const [ada, bob] = [await entered(), await entered({ resource: 'other', userId: 'bob' })]
    await clock.advance(silence - 1_000)
    here.seen({ userId: 'bob', sessionId: 'tab-1' })
    await clock.advance(1_001)
    expect([ada.end, bob.end]).toEqual(['silent', undefined])
    const again = await entered()
    await settled(here.leave({ userId: 'bob', sessionId: 'tab-1' }))
    expect([again.end, bob.end]).toEqual([undefined, 'left'])
  })

  it('are not named by their id alone', async () => {
    const refused = expect.objectContaining({ code: 'INVALID_OPTION' })
    await expect(here.leave('tab-1' as never)).rejects.toEqual(refused)
    expect(() => here.seen('tab-1' as never)).toThrow(refused)
  })
})

describe('a server', () => {
  it('that cannot reach the store gives its sessions up before others get their roles, and tells each once', async () => {
    const store = new ScriptedStore(clock, behind)
    const own = server('own', {}, store)
    const session = await entered({}, own)
    for (const name of ['presence.renew', 'presence.leave'] as const) store.always(name, requestLost)
    let gaveUpMs = 0
    void session.ended.then(() => {
      gaveUpMs = clock.monotonicMs()
    })
    const sinceMs = clock.monotonicMs()
    while ((await settled(there.enter({ ...writer, userId: 'bob' }))).type === 'held') await heard(100, session)
    expect(session.end).toBe('lost')
    expect(gaveUpMs).toBeGreaterThan(sinceMs)
    expect(gaveUpMs).toBeLessThan(clock.monotonicMs())
    await clock.advance(10 * ttl)
    expect(events.filter((event) => event.startsWith('own'))).toEqual(['own entered ada tab-1', 'own lost ada tab-1'])
    expect(own.size).toBe(0)
  })

  it('that is paused for longer than the ttl believes in no session when it comes back, before any timer runs', async () => {
    const session = await entered()
    clock.block(ttl)
    expect(session.isValid).toBe(false)
    expect(await settled(here.verify('doc', 'writer', 'ada'))).toBe(false)
    await clock.advance(ttl)
    expect(session.end).toBe('lost')
  })

  it('that was busy reads what its clients said before it calls them silent', async () => {
    const own = server('own', { ttl: '1m' })
    const session = await entered({}, own)
    clock.block(silence)
    await clock.advance(0)
    expect(session.end).toBeUndefined()
    session.seen()
    await clock.advance(silence / 3)
    expect(session.end).toBeUndefined()
    await clock.advance(2 * silence)
    expect(session.end).toBe('silent')
  })

  it('that stops takes its members with it, and lets nobody in', async () => {
    for (const sessionId of ['1', '2', '3']) await entered({ sessionId })
    const late = follow(here.enter({ ...writer, sessionId: '4' }), clock)
    await settled(here.close())
    expect(late.state).toBe('rejected')
    expect(late.reason).toMatchObject({ code: 'CLOSED' })
    expect(await names()).toEqual([])
    expect(here.size).toBe(0)
    await expect(here.enter(writer)).rejects.toMatchObject({ code: 'CLOSED' })
    await clock.advance(10 * ttl)
    expect(clock.pending).toBe(0)
  })

  it('renews all its sessions with few commands, and loses only those that are gone', async () => {
    const store = new ScriptedStore(clock, behind)
    const own = server('own', {}, store)
    const made: Session[] = []
    for (let at = 0; at < 900; at++) {
      made.push(await entered({ resource: `doc-${at % 7}`, role: 'reader', sessionId: `${at}` }, own))
    }
    const displaced = await entered({ resource: 'doc-0', role: 'reader', sessionId: '0' }, there)
    await heard(6 * ttl, displaced, ...made)
    const calls = store.called('presence.renew').length
    await heard(10 * ttl, displaced, ...made)
    expect(store.called('presence.renew').length - calls).toBeLessThanOrEqual(1.2 * 9 * 30)
    expect(made.filter(({ end }) => end !== undefined).map(({ sessionId, end }) => [sessionId, end])).toEqual([
      ['0', 'taken-over'],
    ])
  })
})

describe('whoever watches a resource', () => {
  async function watched(by = there): Promise<string[]> {
    const told: string[] = []
    by.watch('doc', (event: RoomEvent) => {
      const names = 'members' in event ? event.members.map(({ userId }) => userId) : []
      told.push(`${event.type}${'member' in event ? ` ${event.member.userId}` : ''}: ${names}`)
    })
    await clock.advance(50)
    return told
  }

  it('learns of each user who comes and goes, once, however many tabs they have', async () => {
    await entered({ userId: 'eve', role: 'reader' })
    const told = await watched()
    const tabs = [await entered(), await entered({ sessionId: 'tab-2' }, there)]
    await clock.advance(50)
    for (const tab of tabs) await settled(tab.leave())
    await clock.advance(50)
    expect(told.filter((line) => !line.startsWith('changed'))).toEqual([
      'present: eve',
      'joined ada: eve,ada',
      'left ada: eve',
    ])
  })

  it('learns of those whose server died when their entries expire', async () => {
    const store = new ScriptedStore(clock, behind)
    const told = await watched()
    await entered({}, server('own', {}, store))
    for (const name of ['presence.renew', 'presence.leave'] as const) store.always(name, requestLost)
    await clock.advance(ttl + 550)
    expect(told).toEqual(['present: ', 'joined ada: ada', 'left ada: '])
  })

  it('is told that nobody knows while the store does not answer, and who is there when it does again', async () => {
    const store = new ScriptedStore(clock, behind)
    const own = server('own', {}, store)
    const told = await watched(own)
    store.always('presence.look', requestLost)
    await clock.advance(5_000)
    await entered({}, there)
    store.always('presence.look', (sending) => sending.execute())
    await clock.advance(5_000)
    expect(told).toEqual(['present: ', 'unreachable: ', 'joined ada: ada', 'present: ada'])
  })

  it('is told so, too, if it comes while the store does not answer', async () => {
    const store = new ScriptedStore(clock, behind)
    const own = server('own', {}, store)
    await watched(own)
    store.always('presence.look', requestLost)
    await clock.advance(5_000)
    expect(await watched(own)).toEqual(['unreachable: '])
  })

  it('learns what happens there though the store does not answer for another', async () => {
    const store = new ScriptedStore(clock, behind)
    const own = server('own', {}, store)
    const told = await watched(own)
    const others: string[] = []
    own.watch('other', ({ type }) => others.push(type))
    await clock.advance(50)
    store.always('presence.look', async ({ requests, execute }) =>
      (await execute()).map((outcome, at) =>
        requests[at]?.key === 'other' ? { type: 'unknown', executed: 'no' } : outcome,
      ),
    )
    await entered({}, there)
    await clock.advance(1_000)
    expect([told, others]).toEqual([
      ['present: ', 'joined ada: ada'],
      ['present', 'unreachable'],
    ])
  })

  it('learns at once that one of its own was displaced elsewhere', async () => {
    await watched(here)
    const session = await entered()
    await clock.advance(50)
    await entered({ userId: 'bob', takeOver: 'anyone' }, there)
    await clock.advance(50)
    expect(session.end).toBe('taken-over')
  })

  it('leaves nothing behind when it stops', async () => {
    const stop = there.watch('doc', () => undefined)
    await clock.advance(50)
    stop()
    await clock.advance(5_000)
    expect(clock.pending).toBe(0)
  })
})

it.each([
  ['ttl', { ttl: -1 }],
  ['silence', { silence: 'soon' as '1s' }],
  ['colour', { colour: 'blue' }],
])('a bad %s is refused by name', (option, options) => {
  const locks = createLocker({ store: behind, clock })
  expect(() => sessions(locks, options as SessionsOptions)).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', option }),
  )
})

it.each([
  ['userId', { userId: 'a\nb' }],
  ['sessionId', { sessionId: '' }],
  ['role', { role: 'x'.repeat(257) }],
  ['takeOver', { takeOver: 'everybody' as 'anyone' }],
  ['resource', { resource: 7 as unknown as string }],
])('a session with a bad %s is refused by name, before anything is sent', async (option, options) => {
  await expect(here.enter({ ...writer, ...options })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    option: option === 'resource' ? 'key' : option,
  })
})
