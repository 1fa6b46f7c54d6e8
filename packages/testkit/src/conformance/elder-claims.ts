import { type AcquireAllOutcome, type AcquireAllRequest, type ManyStore, manyOf } from '@leasehold/core/many'
import { expect, it, type TestContext } from 'vitest'
import { callUntil } from '../call-until.ts'
import { longMs, type Probe } from './probe.ts'

/** Claims about sets that have waited long, for a store that offers several locks in one request. */
export function elderClaims(probe: Probe): void {
  /** Two keys that every store keeps together. */
  function twoKeys(): [string, string] {
    const tag = probe.key()
    return [`{${tag}}a`, `{${tag}}b`]
  }
  const requestFor = (keys: readonly string[], waitedMs: number): AcquireAllRequest => ({
    locks: keys.map((key) => ({ key, acquisitionId: probe.acquisitionId('set') })),
    ttlMs: longMs,
    waitedMs,
  })
  const acquireAll = (request: AcquireAllRequest): Promise<AcquireAllOutcome> =>
    (manyOf(probe.store) as ManyStore).acquireAll(request, callUntil(probe.signal))
  async function release(request: AcquireAllRequest): Promise<void> {
    await probe.store.release(request.locks, callUntil(probe.signal))
  }
  const claim = (name: string, test: () => Promise<void>): void =>
    it(name, async (context: TestContext) => {
      if (!manyOf(probe.store)) context.skip('several locks: the store does not offer it')
      await test()
    })

  claim(
    'none that came a second after a set is served before it, if that has asked since it has waited so long',
    async () => {
      const [a, b] = twoKeys()
      const { token } = await probe.grant({ key: b })
      const elder = requestFor([a, b], 30_000)
      const [late, lately, early] = [requestFor([a], 0), requestFor([b], 28_000), requestFor([a], 29_950)]
      expect(await acquireAll(elder)).toMatchObject({ type: 'held', at: 1, isElder: true })
      expect(await acquireAll(early)).toMatchObject({ type: 'granted' })
      await release(early)
      for (const request of [late, lately]) {
        // So that the elder has asked just now, however long the store takes to answer.
        expect(await acquireAll(elder)).toMatchObject({ type: 'held', at: 1, isElder: true })
        if (request === lately) await probe.release({ key: b, token })
        const left = { type: 'held', at: 0, cursor: '-', holder: null, isElder: false }
        const outcome = await acquireAll(request)
        expect(outcome).toMatchObject(left)
        const { expiresInMs } = outcome as Extract<AcquireAllOutcome, { readonly type: 'held' }>
        expect(expiresInMs).toBeGreaterThan(0)
        expect(expiresInMs).toBeLessThanOrEqual(250)
      }
      expect(await acquireAll(elder)).toMatchObject({ type: 'granted' })
      await release(elder)
      // The elder has had its locks, so other sets no longer leave them to it.
      for (const request of [late, lately]) expect(await acquireAll(request)).toMatchObject({ type: 'granted' })
    },
  )

  claim('the elder is the one that has waited longest, until it ceases to wait', async () => {
    const keys = twoKeys()
    await probe.grant({ key: keys[0] })
    const [young, old, older] = [500, 20_000, 30_000].map((waitedMs) => requestFor(keys, waitedMs))
    const isElder = async (request = old): Promise<unknown> => {
      const outcome = await acquireAll(request as AcquireAllRequest)
      expect(outcome).toMatchObject({ type: 'held', at: 0 })
      return 'isElder' in outcome && outcome.isElder
    }
    expect([await isElder(young), await isElder(old), await isElder(older), await isElder(old)]).toEqual([
      false,
      true,
      true,
      false,
    ])
    expect(await acquireAll({ ...(older as AcquireAllRequest), ttlMs: 0 })).toMatchObject({ type: 'spent' })
    expect(await isElder(old)).toBe(true)
  })

  claim('a set that has ceased to wait is granted nothing', async () => {
    const [a, b] = twoKeys()
    expect(await acquireAll({ ...requestFor([a, b], 30_000), ttlMs: 0 })).toEqual({ type: 'spent' })
    expect([(await probe.inspect(a)).held, (await probe.inspect(b)).held]).toEqual([false, false])
    expect(await acquireAll(requestFor([a, b], 0))).toMatchObject({ type: 'granted' })
  })

  claim('an elder keeps nobody out who asks for a single lock, and is forgotten with time', async () => {
    const [a, b] = twoKeys()
    await probe.grant({ key: b })
    expect(await acquireAll(requestFor([a, b], 30_000))).toMatchObject({ isElder: true })
    for (const { expiresInMs } of await probe.entriesOf(a)) expect(expiresInMs).toBeLessThanOrEqual(1_500)
    await probe.grant({ key: a })
  })
}
