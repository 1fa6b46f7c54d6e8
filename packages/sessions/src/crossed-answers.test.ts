import { createLocker } from '@leasehold/core'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { follow, ManualClock, ScriptedStore, type Settlement } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Entered, type EnterOptions, type Session, type Sessions, sessions } from './index.ts'

const ttl = 3_000

let clock: ManualClock
let store: ScriptedStore
let here: Sessions
let there: Sessions
beforeEach(() => {
  clock = new ManualClock()
  const behind = memoryStore({ clock })
  store = new ScriptedStore(clock, behind)
  const server = (own: ScriptedStore): Sessions =>
    sessions(createLocker({ store: own, clock, notifier: memoryNotifier(behind) }), {
      ttl,
      clock,
      sharedRoles: ['reader'],
    })
  here = server(store)
  there = server(new ScriptedStore(clock, behind))
})

const asked = { resource: 'doc', role: 'writer', sessionId: 'tab', takeOver: 'anyone' } as const
const sessionOf = (entering: Settlement<Entered>): Session => (entering.value as { session: Session }).session

/** Enters, and holds the store's answer back until it is let through. */
async function held(userId: string, options: Partial<EnterOptions> = {}) {
  let letThrough = (): void => undefined
  store.next('presence.enter', async (sending) => {
    const answer = await sending.execute()
    await new Promise<void>((resolve) => {
      letThrough = resolve
    })
    return answer
  })
  const entering = follow(here.enter({ ...asked, userId, ...options }), clock)
  await clock.advance(0)
  return async (): Promise<Session> => {
    letThrough()
    await clock.advance(0)
    return sessionOf(entering)
  }
}

async function entered(userId: string, options: Partial<EnterOptions> = {}, by = here): Promise<Session> {
  const entering = follow(by.enter({ ...asked, userId, ...options }), clock)
  await clock.advance(0)
  return sessionOf(entering)
}

const verified = async (userId: string): Promise<boolean | undefined> => {
  const answer = follow(here.verify('doc', 'writer', userId), clock)
  await clock.advance(0)
  return answer.value
}

describe('a session whose answer comes after that of a later one', () => {
  it.each<[string, Partial<EnterOptions>, string, Partial<EnterOptions>]>([
    ['another user who took the role over', {}, 'bob', {}],
    ['another tab of its user that took the role over', {}, 'ada', { sessionId: 'tab-2', takeOver: 'mine' }],
    ['its later self, in another role', { role: 'reader' }, 'ada', {}],
  ])('is over at once, for %s', async (_, first, userId, second) => {
    const answer = await held('ada', first)
    const later = await entered(userId, second)
    const earlier = await answer()
    expect([earlier.end, earlier.isValid, later.end]).toEqual(['taken-over', false, undefined])
    expect([await verified('ada'), await verified('bob')]).toEqual([userId === 'ada', userId === 'bob'])
    expect(here.size).toBe(1)
  })

  it('is over at once, though the later one has left again', async () => {
    const answer = await held('ada')
    const later = await entered('bob')
    await later.leave()
    expect((await answer()).end).toBe('taken-over')
  })

  it('is over at once where a look has found the later one, which is on another server', async () => {
    here.watch('doc', () => undefined)
    await clock.advance(50)
    const answer = await held('ada')
    await entered('bob', {}, there)
    await clock.advance(50)
    expect((await answer()).end).toBe('taken-over')
  })

  it('is over soon if its answer comes while a look is under way that finds the later one', async () => {
    here.watch('doc', () => undefined)
    await clock.advance(50)
    const answer = await held('ada')
    let letThrough = (): void => undefined
    store.next('presence.look', async (sending) => {
      const found = await sending.execute()
      await new Promise<void>((resolve) => {
        letThrough = resolve
      })
      return found
    })
    await entered('bob', {}, there)
    await clock.advance(50)
    const earlier = await answer()
    letThrough()
    await clock.advance(0)
    expect(earlier.end).toBe('taken-over')
  })

  it.each<[string, string, Partial<EnterOptions>]>([
    ['another tab of its user', 'ada', { sessionId: 'tab-2', takeOver: 'nobody' }],
    ['a reader', 'bob', { role: 'reader' }],
    ['another role', 'bob', { role: 'reviewer' }],
    ['another resource', 'bob', { resource: 'other' }],
  ])('lasts beside %s', async (_, userId, options) => {
    const answer = await held('ada')
    const later = await entered(userId, options)
    expect([(await answer()).end, later.end]).toEqual([undefined, undefined])
  })
})
