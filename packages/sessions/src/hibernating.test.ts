import { createLocker } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import { follow, ManualClock } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { type HibernatingSessions, hibernatingSessions, type KeptSession } from './index.ts'

let clock: ManualClock
let object: HibernatingSessions
/** The same object, some time later: it has forgotten everything. */
let awake: HibernatingSessions
beforeEach(() => {
  clock = new ManualClock()
  const store = memoryStore({ clock })
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
  // As it comes back from where it was kept.
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

  it('is refused a role that another user has', async () => {
    await kept()
    expect(await settled(awake.enter({ ...asked, userId: 'bob' }))).toMatchObject({
      type: 'held',
      by: { userId: 'ada' },
    })
  })
})
