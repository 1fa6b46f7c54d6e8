import { createLocker, StoreUnavailableError } from '@leasehold/core'
import { follow, ManualClock, requestLost, ScriptedStore } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { type HibernatingSessions, hibernatingSessions, type KeptSession } from './index.ts'

let clock: ManualClock
let store: ScriptedStore
let object: HibernatingSessions
/** The same object, some time later: it has forgotten everything. */
let awake: HibernatingSessions
beforeEach(() => {
  clock = new ManualClock()
  store = new ScriptedStore(clock)
  const make = (): HibernatingSessions =>
    hibernatingSessions(createLocker({ store, clock }), { ttl: '30s', sharedRoles: ['reader'] })
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
  // As read back from where it was kept.
  return JSON.parse(JSON.stringify((outcome as { session: KeptSession }).session)) as KeptSession
}

describe('a session that is kept elsewhere', () => {
  it('lives for its ttl, without a timer, and as long as it is renewed', async () => {
    const session = await kept()
    await clock.advance(0)
    for (let times = 0; times < 5; times++) {
      await clock.advance(20_000)
      expect(await settled(awake.renew([session]))).toEqual([])
    }
    expect(await settled(awake.verify('doc', 'writer', 'ada'))).toBe(true)
    await clock.advance(30_000)
    expect(await settled(awake.renew([session]))).toEqual([{ session, end: 'lost' }])
    expect(await settled(awake.members('doc'))).toEqual([])
  })

  it('is told from others that are renewed with it', async () => {
    const [first, reader] = [await kept(), await kept({ role: 'reader', sessionId: 'other' })]
    const second = await kept()
    expect(await settled(awake.renew([first, reader, second]))).toEqual([{ session: first, end: 'taken-over' }])
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
