import { type AcquireAllOutcome, type AcquireAllRequest, type ManyStore, manyOf } from '@leasehold/core/many'
import { expect, it, type TestContext } from 'vitest'
import { callUntil } from '../call-until.ts'
import { longMs, type Probe, shortMs, slackMs } from './probe.ts'

type Granted = Extract<AcquireAllOutcome, { readonly type: 'granted' }>

/** Claims about several locks in one request, for a store that offers that. */
export function manyClaims(probe: Probe): void {
  const many = (): ManyStore => manyOf(probe.store) as ManyStore
  /** Three keys that every store keeps together. */
  function threeKeys(): [string, string, string] {
    const tag = probe.key()
    return [`{${tag}}a`, `{${tag}}b`, `{${tag}}c`]
  }
  const requestFor = (keys: readonly string[], ttlMs = longMs, waitedMs = 0): AcquireAllRequest => ({
    locks: keys.map((key) => ({ key, acquisitionId: probe.acquisitionId('set') })),
    ttlMs,
    waitedMs,
  })
  const acquireAll = (request: AcquireAllRequest, signal = probe.signal): Promise<AcquireAllOutcome> =>
    many().acquireAll(request, callUntil(signal))
  async function granted(request: AcquireAllRequest): Promise<Granted> {
    const outcome = await acquireAll(request)
    expect(outcome).toMatchObject({ type: 'granted' })
    return outcome as Granted
  }
  const heldOf = async (keys: readonly string[]): Promise<readonly boolean[]> =>
    Promise.all(keys.map(async (key) => (await probe.inspect(key)).held))
  const claim = (name: string, test: (context: TestContext) => Promise<void>): void =>
    it(name, async (context) => {
      if (!manyOf(probe.store)) context.skip('several locks: the store does not offer it')
      await test(context)
    })

  claim('each lock is an ordinary one, with a token and a fence of its own', async () => {
    const keys = threeKeys()
    const request = requestFor(keys)
    const { grants } = await granted(request)
    for (const [at, key] of keys.entries()) {
      const { token, fence } = grants[at] as Granted['grants'][number]
      expect(token).toBe(`${request.locks[at]?.acquisitionId}.${fence}`)
      expect(await probe.inspect(key)).toMatchObject({ held: true, holder: 'set', fence })
      expect(await probe.leftMs(key)).toBeGreaterThan(longMs - slackMs)
      await probe.contention({ key })
      expect(await probe.renew(key, token, 2 * longMs)).toBe('renewed')
      expect(await probe.release({ key, token })).toBe('released')
      expect((await probe.grant({ key })).fence).toBeGreaterThan(fence)
    }
  })

  claim('each fence is above all fences that its key had before', async () => {
    const keys = threeKeys()
    const before = await probe.grant({ key: keys[1], fences: 1_000_000_000 })
    await probe.release({ key: keys[1], token: before.token })
    const { grants } = await granted(requestFor(keys))
    expect(grants[1]?.fence).toBeGreaterThanOrEqual(before.fence + 1_000_000_000)
    for (const { expiresInMs } of await probe.entriesOf(keys[1])) expect(expiresInMs).not.toBeNull()
  })

  claim('if one is held, none is granted, and the answer says which and by whom', async () => {
    const keys = threeKeys()
    const { fence } = await probe.grant({ key: keys[1], acquisitionId: probe.acquisitionId('other') })
    await probe.grant({ key: keys[2] })
    const outcome = await acquireAll(requestFor(keys))
    expect(outcome).toMatchObject({ type: 'held', at: 1, holder: 'other' })
    const { expiresInMs, cursor } = outcome as Extract<AcquireAllOutcome, { readonly type: 'held' }>
    expect(expiresInMs).toBeGreaterThan(longMs - slackMs)
    expect(await probe.check(keys[1], cursor)).toMatchObject({ changed: false, cursor })
    expect(await heldOf(keys)).toEqual([false, true, true])
    expect(await probe.inspect(keys[1])).toMatchObject({ fence })
    expect(await probe.entriesOf(keys[0])).toEqual([])
  })

  claim('a foreign holder is in the way as any other', async (context) => {
    probe.needs(context, 'foreign-holders')
    const keys = threeKeys()
    await probe.admin.replace(keys[2], null)
    const outcome = await acquireAll(requestFor(keys))
    expect(outcome).toMatchObject({ type: 'held', at: 2, expiresInMs: null, cursor: '-', holder: null })
    expect(await heldOf(keys)).toEqual([false, false, true])
  })

  claim('a repeat finds its own locks, and extends them; never to less', async () => {
    const keys = threeKeys()
    const request = requestFor(keys)
    const first = await granted(request)
    expect(await acquireAll({ ...request, ttlMs: 3 * longMs })).toEqual(first)
    expect(await acquireAll({ ...request, ttlMs: shortMs })).toEqual(first)
    for (const key of keys) {
      for (const { expiresInMs } of await probe.entriesOf(key))
        expect(expiresInMs).toBeGreaterThan(3 * longMs - slackMs)
    }
  })

  claim('of many who ask at once for overlapping sets, those who get theirs share no lock', async () => {
    const keys = threeKeys()
    const pairs = [
      [0, 1],
      [1, 2],
      [0, 2],
    ].map((pair) => pair.map((at) => keys[at] as string))
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, at) => acquireAll(requestFor(pairs[at % 3] ?? []))),
    )
    expect(outcomes.filter(({ type }) => type === 'granted')).toHaveLength(1)
    expect(outcomes.filter(({ type }) => type === 'held')).toHaveLength(11)
    expect((await heldOf(keys)).filter(Boolean)).toHaveLength(2)
  })

  claim('a repeat that finds some of its locks ended is spent, and takes nothing', async () => {
    for (const end of ['released', 'revoked', 'expired and taken'] as const) {
      const keys = threeKeys()
      const request = requestFor(keys)
      const { grants } = await granted(request)
      if (end === 'released') await probe.release({ key: keys[0], token: grants[0]?.token as string })
      else await probe.revoke(keys[0])
      if (end === 'expired and taken') await probe.grant({ key: keys[0] })
      expect(await acquireAll(request), end).toEqual({ type: 'spent' })
      expect(await heldOf(keys)).toEqual([end === 'expired and taken', true, true])
    }
  })

  claim('and so is one that comes when all of them have ended, by a release or by time', async () => {
    const [released, expired] = [threeKeys(), threeKeys()]
    const first = requestFor(released)
    const { grants } = await granted(first)
    for (const [at, { token }] of grants.entries()) await probe.release({ key: released[at] as string, token })
    // Nobody has to hold these, and what is remembered of them soon goes, so as little of that time as possible is lost.
    const ttlMs = 100
    const second = requestFor(expired, ttlMs)
    await granted(second)
    await probe.advance(ttlMs)
    for (const request of [second, first]) expect(await acquireAll(request)).toEqual({ type: 'spent' })
    expect(await heldOf([...released, ...expired])).toEqual(Array(6).fill(false))
  })

  claim('what a lost answer may have granted is given back by the acquisition ids', async () => {
    const keys = threeKeys()
    const request = requestFor(keys)
    await granted(request)
    const outcomes = await probe.store.release(request.locks, callUntil(probe.signal))
    expect(outcomes.map(({ type }) => type)).toEqual(['released', 'released', 'released'])
    expect(await heldOf(keys)).toEqual([false, false, false])
    expect(await acquireAll(request)).toEqual({ type: 'spent' })
  })

  claim('how a lease before ended is still known while the set has the lock', async () => {
    const keys = threeKeys()
    const { token } = await probe.grant({ key: keys[0] })
    await probe.release({ key: keys[0], token })
    await granted(requestFor(keys))
    expect(await probe.release({ key: keys[0], token })).toBe('released')
    expect(await heldOf(keys)).toEqual([true, true, true])
  })

  claim(
    'keys are split into groups without a change of their order, and those of one hash tag stay together',
    async () => {
      const [first, second] = [threeKeys(), threeKeys()]
      const groups = many().groupsOf([...first, ...second])
      expect(groups.flat()).toEqual([...first, ...second])
      expect(groups.some((group) => first.every((key) => group.includes(key)))).toBe(true)
      // However the store groups keys, one request can span a group.
      for (const group of groups) await granted(requestFor(group))
    },
  )

  claim('a call that was aborted before it began does nothing', async () => {
    const keys = threeKeys()
    const outcome = await acquireAll(requestFor(keys), AbortSignal.abort())
    expect(outcome).toMatchObject({ type: 'unknown', executed: 'no' })
    expect(await heldOf(keys)).toEqual([false, false, false])
  })
}
