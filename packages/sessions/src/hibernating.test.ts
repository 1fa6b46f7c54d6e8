import { createLocker, StoreUnavailableError } from '@leasehold/core'
import { follow, ManualClock, replyAfter, requestLost, ScriptedStore } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { type HibernatingSessions, hibernatingSessions, type KeptSession, type RenewedSession } from './index.ts'

const ttl = 30_000
/** For how long an answer of the store is trusted: the ttl without the drift allowance. */
const trusted = 29_698

let clock: ManualClock
let store: ScriptedStore
let object: HibernatingSessions
/** The same object, some time later: it has forgotten everything. */
let awake: HibernatingSessions
beforeEach(() => {
  clock = new ManualClock()
  store = new ScriptedStore(clock)
  const make = (): HibernatingSessions =>
    hibernatingSessions(createLocker({ store, clock }), { ttl, sharedRoles: ['reader'], clock })
  object = make()
  awake = make()
})

const asked = { resource: 'doc', role: 'writer', userId: 'ada', sessionId: 'tab' }

async function settled<T>(work: Promise<T>): Promise<T> {
  const following = follow(work, clock)
  await clock.advance(0)
  expect(following.state).toBe('fulfilled')
  return following.value as T
}

async function kept(options: object = {}): Promise<KeptSession> {
  const outcome = await settled(object.enter({ ...asked, ...options }))
  expect(outcome.type).toBe('entered')
  return readBack((outcome as { session: KeptSession }).session)
}

/** As read back from where it was kept. */
const readBack = (session: KeptSession): KeptSession => JSON.parse(JSON.stringify(session)) as KeptSession

/** Renews one session, and lets the clock run meanwhile until the call has ended. */
async function renewed(session: KeptSession): Promise<RenewedSession> {
  const renewing = follow(awake.renew([session]), clock)
  for (let passedMs = 0; renewing.state === 'pending' && passedMs < 20_000; passedMs += 50) await clock.advance(50)
  const [only] = renewing.value as readonly [RenewedSession]
  return { ...only, session: readBack(only.session) }
}

describe('a session that is kept elsewhere', () => {
  it('lives for its ttl, without a timer, and as long as it is renewed', async () => {
    let session = await kept()
    await clock.advance(0)
    for (let times = 0; times < 5; times++) {
      expect(awake.remaining(session)).toBe(trusted)
      await clock.advance(20_000)
      expect(awake.remaining(session)).toBe(trusted - 20_000)
      const [after] = await settled(awake.renew([session]))
      expect(after?.end).toBeUndefined()
      session = readBack((after as RenewedSession).session)
    }
    expect(await settled(awake.verify('doc', 'writer', 'ada'))).toBe(true)
    await clock.advance(ttl)
    expect(await settled(awake.renew([session]))).toEqual([{ session, end: 'lost' }])
    expect(await settled(awake.members('doc'))).toEqual([])
  })

  it('is told from others that are renewed with it', async () => {
    const [first, reader] = [await kept(), await kept({ role: 'reader', sessionId: 'other' })]
    const second = await kept()
    await clock.advance(1_000)
    const after = await settled(awake.renew([first, reader, second]))
    expect(after.map(({ session, end }) => [session.token, end])).toEqual([
      [first.token, 'taken-over'],
      [reader.token, undefined],
      [second.token, undefined],
    ])
    expect(after.map(({ session }) => awake.remaining(session))).toEqual([trusted - 1_000, trusted, trusted])
  })

  it('leaves once; the late end of one that was displaced changes nothing', async () => {
    const first = await kept()
    const second = await kept()
    await settled(awake.leave(first))
    expect(await settled(awake.members('doc'))).toHaveLength(1)
    await settled(awake.leave(second))
    await settled(awake.leave(second))
    expect(await settled(awake.members('doc'))).toEqual([])
  })

  it('is ended if it cannot be let go of: nothing here would renew it or end it', async () => {
    store.always('presence.renew', requestLost)
    const entering = follow(object.enter(asked), clock)
    await clock.advance(10_000)
    expect(entering.reason).toBeInstanceOf(StoreUnavailableError)
    expect(await settled(awake.members('doc'))).toEqual([])
    expect(clock.pending).toBe(0)
  })

  it('refuses what it has no use for, by name', async () => {
    const locks = createLocker({ store, clock })
    expect(() => hibernatingSessions(locks, { ttl: '30s', silence: '5s' } as { ttl: '30s' })).toThrow(
      expect.objectContaining({ option: 'silence' }),
    )
    await expect(object.enter({ ...asked, socket: {} } as typeof asked)).rejects.toMatchObject({ option: 'socket' })
  })

  it('is refused a role that another user has', async () => {
    await kept()
    expect(await settled(awake.enter({ ...asked, userId: 'bob' }))).toMatchObject({
      type: 'held',
      by: { userId: 'ada' },
    })
  })
})

describe('a session whose object gets no answer', () => {
  it('lasts until it can no longer be trusted, and is lost before another can have its role', async () => {
    const session = await kept()
    store.always('presence.renew', requestLost)
    await clock.advance(10_000)
    expect(await renewed(session)).toEqual({ session, end: undefined })
    await clock.advance(session.trustedUntilMs - clock.wallMs() - 1)
    expect(awake.remaining(session)).toBe(1)
    await clock.advance(1)
    expect(awake.remaining(session)).toBe(0)
    const sent = store.calls.length
    // At once: the caller need not wait for a store that does not answer.
    expect(await settled(awake.renew([session]))).toEqual([{ session, end: 'lost' }])
    expect(store.calls).toHaveLength(sent)
    store.always('presence.renew', (sending) => sending.execute())
    const bob = { ...asked, userId: 'bob' }
    expect((await settled(awake.enter(bob))).type).toBe('held')
    await clock.advance(ttl - trusted)
    expect((await settled(awake.enter(bob))).type).toBe('entered')
  })

  it('is lost if its time ends while it is being renewed', async () => {
    const session = await kept()
    store.always('presence.renew', requestLost)
    await clock.advance(trusted - 100)
    expect(await renewed(session)).toEqual({ session, end: 'lost' })
  })

  it('is trusted again by the next answer, counted from before it was asked for', async () => {
    const session = await kept()
    store.next('presence.renew', requestLost, requestLost)
    expect((await renewed(session)).end).toBeUndefined()
    store.next('presence.renew', replyAfter(500))
    const askedMs = clock.wallMs()
    const after = await renewed(session)
    expect([after.end, after.session.trustedFromMs]).toEqual([undefined, askedMs])
    expect(after.session.trustedUntilMs).toBe(askedMs + trusted)
  })

  it('is lost if the answer comes when its time is over', async () => {
    const session = await kept()
    store.next('presence.renew', async (sending) => {
      const answer = await sending.execute()
      clock.block(ttl)
      return answer
    })
    expect((await renewed(session)).end).toBe('lost')
  })

  it('is lost with all others after one deadline, however many they are', async () => {
    const many: KeptSession[] = []
    for (let at = 0; at < 450; at++) many.push(await kept({ role: 'reader', sessionId: `${at}` }))
    store.always('presence.renew', requestLost)
    await clock.advance(trusted - 100)
    const [sinceMs, calls] = [clock.monotonicMs(), store.called('presence.renew').length]
    const renewing = follow(awake.renew(many), clock)
    while (renewing.state === 'pending') await clock.advance(50)
    expect(renewing.value?.map(({ end }) => end)).toEqual(many.map(() => 'lost'))
    expect(clock.monotonicMs() - sinceMs).toBeLessThanOrEqual(5_100)
    // Five parts, each sent twice.
    expect(store.called('presence.renew').length - calls).toBe(10)
  })
})

describe('a session whose object’s clock is set', () => {
  it('forward, is lost once that is as long as its time', async () => {
    const session = await kept()
    clock.stepWall(trusted)
    expect(awake.remaining(session)).toBe(0)
    expect((await settled(awake.renew([session])))[0]?.end).toBe('lost')
  })

  it('back, is not trusted until the store has renewed it', async () => {
    const session = await kept()
    clock.stepWall(-1)
    expect(awake.remaining(session)).toBe(0)
    const after = await renewed(session)
    expect([after.end, awake.remaining(after.session) > 0]).toEqual([undefined, true])
  })

  it('back, is lost if the store does not answer: nobody knows how long ago it did', async () => {
    const session = await kept()
    store.always('presence.renew', requestLost)
    clock.stepWall(-3_600_000)
    expect((await renewed(session)).end).toBe('lost')
  })

  it('back while it is being renewed, is trusted no longer for that', async () => {
    const session = await kept()
    store.next('presence.renew', async (sending) => {
      clock.stepWall(-60_000)
      return sending.execute()
    })
    const [after] = await settled(awake.renew([session]))
    expect([after?.end, awake.remaining((after as RenewedSession).session)]).toEqual([undefined, trusted])
  })
})

it('a session costs two calls to enter, and the others one each', async () => {
  const costs = async (work: () => Promise<unknown>): Promise<number> => {
    const before = store.calls.length
    await settled(work())
    return store.calls.length - before
  }
  const session = await kept()
  expect(await costs(() => object.enter({ ...asked, sessionId: 'other' }))).toBe(2)
  expect(await costs(() => object.enter({ ...asked, userId: 'bob' }))).toBe(1)
  expect(await costs(() => awake.renew([session]))).toBe(1)
  expect(await costs(() => awake.verify('doc', 'writer', 'ada'))).toBe(1)
  expect(await costs(() => awake.members('doc'))).toBe(1)
  expect(await costs(() => awake.leave(session))).toBe(1)
})
