import { InvalidOptionError } from '@leasehold/core'
import {
  type AbandonOutcome,
  type AbandonRequest,
  type ClaimOutcome,
  type ClaimRequest,
  type CompleteOutcome,
  type CompleteRequest,
  mostResultBytes,
  type ReadOutcome,
  type RecordStore,
  recordsOf,
} from '@leasehold/core/records'
import { expect, it, type TestContext } from 'vitest'
import { callUntil } from '../call-until.ts'
import { longMs, type Probe, shortMs, slackMs } from './probe.ts'

type Claimed = Extract<ClaimOutcome, { readonly type: 'claimed' }>
type Run = Pick<CompleteRequest, 'key' | 'token'> & Partial<CompleteRequest>

const every = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Requests for records one at a time, with defaults for what a claim does not speak of. */
class Records {
  readonly #probe: Probe
  readonly store: RecordStore

  constructor(probe: Probe, store: RecordStore) {
    this.#probe = probe
    this.store = store
  }

  claim(request: Pick<ClaimRequest, 'key'> & Partial<ClaimRequest>): Promise<ClaimOutcome> {
    return this.store.claim(this.asked(request), callUntil(this.#probe.signal))
  }

  asked(request: Pick<ClaimRequest, 'key'> & Partial<ClaimRequest>): ClaimRequest {
    const acquisitionId = this.#probe.acquisitionId()
    return { acquisitionId, ttlMs: longMs, fingerprint: 'same', keepMs: 2 * longMs, rerun: false, ...request }
  }

  /** Claims what has to be free. */
  async begin(request: Pick<ClaimRequest, 'key'> & Partial<ClaimRequest>): Promise<Claimed> {
    const outcome = await this.claim(request)
    expect(outcome).toMatchObject({ type: 'claimed' })
    return outcome as Claimed
  }

  /** Claims a key whose run then loses its lease, as if it had died. */
  async leaveInDoubt(key: string): Promise<Claimed> {
    const claimed = await this.begin({ key, ttlMs: shortMs })
    await this.#probe.advance(shortMs)
    return claimed
  }

  complete(run: Run): Promise<CompleteOutcome> {
    const request = { fingerprint: 'same', result: bytes('done'), keepMs: longMs, ...run }
    return this.store.complete(request, callUntil(this.#probe.signal))
  }

  abandon(request: AbandonRequest): Promise<AbandonOutcome> {
    return this.store.abandon(request, callUntil(this.#probe.signal))
  }

  async read(key: string): Promise<Extract<ReadOutcome, { readonly type: 'state' }>> {
    const outcome = await this.store.read(key, callUntil(this.#probe.signal))
    expect(outcome).toMatchObject({ type: 'state' })
    return outcome as Extract<ReadOutcome, { readonly type: 'state' }>
  }

  /** The state of the record, and whether somebody has the lock. */
  async state(key: string): Promise<string> {
    const { record, lock } = await this.read(key)
    return `${record?.state ?? 'absent'}${lock ? ', locked' : ''}`
  }
}

/** The further port of a store that keeps a record of the work done under each key. */
export function recordClaims(probe: Probe): void {
  const claim = (name: string, test: (records: Records, context: TestContext) => Promise<void>): void =>
    it(name, async (context) => {
      const store = recordsOf(probe.store)
      if (!store) context.skip('records: the store does not offer them')
      await test(new Records(probe, store as RecordStore), context)
    })

  claim('a claim takes the lock with a fence of its own, and its record is running', async (records) => {
    const key = probe.key()
    const former = await probe.grant({ key })
    await probe.release({ key, token: former.token })
    const acquisitionId = probe.acquisitionId('runner')
    const { token, fence, overtook } = await records.begin({ key, acquisitionId })
    expect([token, overtook]).toEqual([`${acquisitionId}.${fence}`, undefined])
    expect(fence).toBeGreaterThan(former.fence)
    expect(await probe.inspect(key)).toMatchObject({ held: true, holder: 'runner', fence })
    const { record, lock } = await records.read(key)
    expect(record).toMatchObject({ state: 'running', fence, holder: 'runner', fingerprint: 'same' })
    expect(lock).toMatchObject({ holder: 'runner' })
  })

  claim('every entry of it expires: the lock with its ttl, the record when it was asked for', async (records) => {
    const key = probe.key()
    const { token } = await records.begin({ key, ttlMs: longMs, keepMs: 3 * longMs })
    expect(await probe.leftMs(key)).toBeLessThanOrEqual(longMs)
    expect((await records.read(key)).record?.expiresInMs).toBeGreaterThan(3 * longMs - slackMs)
    for (const { expiresInMs } of await probe.entriesOf(key)) expect(expiresInMs).toBeGreaterThan(0)
    await records.complete({ key, token, keepMs: longMs })
    expect((await records.read(key)).record?.expiresInMs).toBeLessThanOrEqual(longMs)
    for (const { expiresInMs } of await probe.entriesOf(key)) expect(expiresInMs).toBeGreaterThan(0)
  })

  claim('complete stores the result, frees the lock, and tells its waiters', async (records, context) => {
    probe.needs(context, 'announcements')
    const key = probe.key()
    const heard = await probe.listen(key)
    const { token, fence } = await records.begin({ key })
    expect(await records.complete({ key, token })).toMatchObject({ type: 'completed', announced: true })
    await expect.poll(() => heard.payloads).toEqual([`released ${fence}`])
    await heard.close()
    expect(await records.state(key)).toBe('done')
    expect((await probe.grant({ key })).fence).toBeGreaterThan(fence)
  })

  claim('a result comes back byte by byte, whatever it is', async (records) => {
    for (const result of [every, new Uint8Array(), bytes('{"π":"3.14"}'), Uint8Array.of(0, 255, 254, 128, 65)]) {
      const key = probe.key()
      const { token, fence } = await records.begin({ key })
      await records.complete({ key, token, result })
      expect(await records.claim({ key })).toMatchObject({ type: 'done', record: { state: 'done', fence, result } })
      expect((await records.read(key)).record).toMatchObject({ result })
    }
  })

  claim('so does the largest', async (records) => {
    const key = probe.key()
    const { token } = await records.begin({ key })
    const result = Uint8Array.from({ length: mostResultBytes }, (_, at) => (at * 7) % 256)
    expect(await records.complete({ key, token, result })).toMatchObject({ type: 'completed' })
    const { record } = (await records.claim({ key })) as Extract<ClaimOutcome, { readonly type: 'done' }>
    expect(record.state === 'done' && record.result.every((byte, at) => byte === (at * 7) % 256)).toBe(true)
    expect(record.state === 'done' && record.result.length).toBe(mostResultBytes)
  })

  claim('a result that is too large to keep leaves a record that the work is done', async (records) => {
    const key = probe.key()
    const { token, fence } = await records.begin({ key })
    expect(await records.complete({ key, token, result: null })).toMatchObject({ type: 'completed' })
    expect(await records.state(key)).toBe('too-large')
    const found = await records.claim({ key, rerun: true })
    expect(found).toMatchObject({ type: 'done', record: { state: 'too-large', fence } })
    expect(await records.complete({ key, token, result: null })).toMatchObject({ type: 'completed' })
  })

  claim('another fingerprint is a mismatch in every state, whatever is asked for', async (records) => {
    const [running, done, inDoubt] = [probe.key(), probe.key(), probe.key()]
    await records.begin({ key: running })
    const { token } = await records.begin({ key: done })
    await records.complete({ key: done, token })
    await records.leaveInDoubt(inDoubt)
    for (const key of [running, done, inDoubt]) {
      for (const rerun of [false, true]) {
        expect(await records.claim({ key, rerun, fingerprint: 'other' })).toEqual({ type: 'mismatch' })
      }
    }
    expect(await records.claim({ key: done })).toMatchObject({ type: 'done' })
    expect(await records.state(inDoubt)).toBe('running')
  })

  claim('a claim of what is running is told who has it and for how long, with a cursor to wait by', async (records) => {
    const key = probe.key()
    const { token } = await records.begin({ key, acquisitionId: probe.acquisitionId('runner') })
    for (const rerun of [false, true]) {
      const busy = (await records.claim({ key, rerun })) as Extract<ClaimOutcome, { readonly type: 'busy' }>
      expect(busy).toMatchObject({ type: 'busy', holder: 'runner' })
      expect(busy.expiresInMs).toBeGreaterThan(longMs - slackMs)
      expect(await probe.check(key, busy.cursor)).toMatchObject({ changed: false })
    }
    const { cursor } = (await records.claim({ key })) as Extract<ClaimOutcome, { readonly type: 'busy' }>
    await records.complete({ key, token })
    expect(await probe.check(key, cursor)).toMatchObject({ changed: true })
  })

  claim('claims and holders of the lock exclude each other', async (records) => {
    const key = probe.key()
    const holder = await probe.grant({ key, acquisitionId: probe.acquisitionId('holder') })
    expect(await records.claim({ key, rerun: true })).toMatchObject({ type: 'busy', holder: 'holder' })
    expect(await records.state(key)).toBe('absent, locked')
    await probe.release({ key, token: holder.token })
    await records.begin({ key, acquisitionId: probe.acquisitionId('runner') })
    expect(await probe.contention({ key })).toMatchObject({ holder: 'runner' })
  })

  claim('of many claims at once one runs', async (records) => {
    const key = probe.key()
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => records.claim({ key })))
    const types = outcomes.map(({ type }) => type).sort()
    expect(types).toEqual([...Array.from({ length: 29 }, () => 'busy'), 'claimed'])
  })

  claim('a run that lost its lease leaves its key in doubt, until its record is forgotten', async (records) => {
    const key = probe.key()
    const { fence } = await records.begin({ key, ttlMs: shortMs, keepMs: 3 * shortMs })
    await probe.advance(shortMs)
    expect(await records.claim({ key })).toMatchObject({ type: 'in-doubt', record: { state: 'running', fence } })
    expect(await records.state(key)).toBe('running')
    await probe.advance(2 * shortMs)
    expect(await records.state(key)).toBe('absent')
    expect((await records.begin({ key })).overtook).toBeUndefined()
  })

  claim('revoking the lock of a run leaves its key in doubt, too', async (records) => {
    const key = probe.key()
    await records.begin({ key })
    await probe.revoke(key)
    expect(await records.claim({ key })).toMatchObject({ type: 'in-doubt' })
  })

  claim(
    'a key in doubt can be claimed again, with a higher fence, and the claim says whom it replaced',
    async (records) => {
      const key = probe.key()
      const first = await records.leaveInDoubt(key)
      const acquisitionId = probe.acquisitionId()
      const second = await records.begin({ key, acquisitionId, rerun: true })
      expect(second.fence).toBeGreaterThan(first.fence)
      expect(second.overtook).toBe(first.fence)
      // A repeat learns the same.
      expect(await records.claim({ key, acquisitionId, rerun: true })).toEqual(second)
      expect(await records.state(key)).toBe('running, locked')
    },
  )

  claim(
    'a run that was overtaken is refused after its successor has completed, and is told the result',
    async (records) => {
      const key = probe.key()
      const first = await records.leaveInDoubt(key)
      const second = await records.begin({ key, rerun: true })
      await records.complete({ key, token: second.token, result: bytes('second') })
      expect(await records.complete({ key, token: first.token, result: bytes('first') })).toMatchObject({
        type: 'superseded',
        record: { state: 'done', fence: second.fence, result: bytes('second') },
      })
      expect(await records.claim({ key })).toMatchObject({ record: { result: bytes('second') } })
    },
  )

  claim('it is refused before its successor has completed, too, and takes nothing from it', async (records) => {
    const key = probe.key()
    const first = await records.leaveInDoubt(key)
    const second = await records.begin({ key, rerun: true })
    for (const result of [bytes('first'), null]) {
      expect(await records.complete({ key, token: first.token, result })).toMatchObject({
        type: 'superseded',
        record: { state: 'running', fence: second.fence },
      })
    }
    expect(await records.abandon({ key, token: first.token })).toMatchObject({ type: 'superseded' })
    expect(await records.state(key)).toBe('running, locked')
    expect(await records.complete({ key, token: second.token })).toMatchObject({ type: 'completed' })
  })

  claim('a run that lost its lease and was not overtaken may complete', async (records) => {
    const [key, taken] = [probe.key(), probe.key()]
    const late = await records.leaveInDoubt(key)
    expect(await records.complete({ key, token: late.token })).toEqual({
      type: 'completed',
      announced: true,
      subscribers: null,
    })
    expect(await records.claim({ key, rerun: true })).toMatchObject({ type: 'done' })
    // A holder without a record has overtaken nobody, and keeps its lock.
    const other = await records.leaveInDoubt(taken)
    const { fence } = await probe.grant({ key: taken })
    expect(await records.complete({ key: taken, token: other.token })).toMatchObject({ type: 'completed' })
    expect(await probe.inspect(taken)).toMatchObject({ held: true, fence })
  })

  claim('a repeated claim finds itself; it extends and never shortens', async (records) => {
    const key = probe.key()
    const request = records.asked({ key })
    const first = await records.begin(request)
    expect(await records.claim({ ...request, ttlMs: shortMs, keepMs: shortMs })).toEqual(first)
    expect(await probe.leftMs(key)).toBeGreaterThan(longMs - slackMs)
    expect((await records.read(key)).record?.expiresInMs).toBeGreaterThan(2 * longMs - slackMs)
    expect(await records.claim({ ...request, ttlMs: 2 * longMs, keepMs: 4 * longMs })).toEqual(first)
    expect(await probe.leftMs(key)).toBeGreaterThan(2 * longMs - slackMs)
    expect((await records.read(key)).record?.expiresInMs).toBeGreaterThan(4 * longMs - slackMs)
    // The fence record with them.
    for (const { expiresInMs } of await probe.entriesOf(key)) expect(expiresInMs).toBeGreaterThan(2 * longMs - slackMs)
  })

  claim('a claim that comes once more, late, takes nothing', async (records) => {
    const [done, abandoned, lost] = [probe.key(), probe.key(), probe.key()].map((key) => records.asked({ key }))
    if (!done || !abandoned || !lost) throw new Error('three requests')
    await records.complete({ ...done, ...(await records.begin(done)) })
    await records.abandon({ ...abandoned, ...(await records.begin(abandoned)) })
    await records.begin({ ...lost, ttlMs: shortMs })
    await probe.advance(shortMs)
    expect(await records.claim(done)).toMatchObject({ type: 'done' })
    expect(await records.claim(abandoned)).toEqual({ type: 'spent' })
    expect(await records.claim(lost)).toEqual({ type: 'spent' })
    expect(await records.claim({ ...lost, rerun: true })).toEqual({ type: 'spent' })
    for (const { key } of [done, abandoned, lost]) expect((await probe.inspect(key)).held).toBe(false)
    // What is left in doubt by nobody's run can be given up by the acquisition id, which is all that a lost answer leaves.
    expect(await records.abandon({ key: lost.key, acquisitionId: lost.acquisitionId })).toMatchObject({
      type: 'abandoned',
    })
    await records.begin({ key: lost.key })
  })

  claim('a repeated complete is told that it was carried out, and changes nothing', async (records) => {
    const key = probe.key()
    const { token, fence } = await records.begin({ key })
    await records.complete({ key, token, result: bytes('first') })
    const holder = await probe.grant({ key })
    for (const result of [bytes('first'), bytes('once more'), null]) {
      expect(await records.complete({ key, token, result })).toEqual({
        type: 'completed',
        announced: true,
        subscribers: null,
      })
    }
    expect((await records.read(key)).record).toMatchObject({ fence, result: bytes('first') })
    expect(await probe.inspect(key)).toMatchObject({ held: true, fence: holder.fence })
    // To release it as a lease is a repeat, too.
    expect(await probe.release({ key, token })).toBe('released')
  })

  claim('abandon leaves the key as if it had never been claimed, and tells its waiters', async (records, context) => {
    probe.needs(context, 'announcements')
    const key = probe.key()
    const heard = await probe.listen(key)
    const { token, fence } = await records.begin({ key })
    expect(await records.abandon({ key, token })).toMatchObject({ type: 'abandoned', announced: true })
    await expect.poll(() => heard.payloads).toEqual([`released ${fence}`])
    await heard.close()
    expect(await records.state(key)).toBe('absent')
    expect((await records.begin({ key, fingerprint: 'other' })).fence).toBeGreaterThan(fence)
  })

  claim('a repeated abandon is told that it was carried out, with another run in between', async (records) => {
    for (const name of [undefined, 'runner']) {
      const [key, acquisitionId] = [probe.key(), probe.acquisitionId(name)]
      const { token } = await records.begin({ key, acquisitionId })
      const again = { type: 'abandoned', announced: true, subscribers: null }
      await records.abandon({ key, token })
      expect(await records.abandon({ key, token })).toEqual(again)
      const second = await records.begin({ key })
      expect(await records.abandon({ key, token })).toEqual(again)
      expect(await records.abandon({ key, acquisitionId })).toEqual(again)
      expect(await records.complete({ key, token: second.token })).toMatchObject({ type: 'completed' })
    }
  })

  claim('a run without a lease can be abandoned, and then its key is in doubt no more', async (records) => {
    const key = probe.key()
    const { token } = await records.leaveInDoubt(key)
    for (let i = 0; i < 2; i++) expect(await records.abandon({ key, token })).toMatchObject({ type: 'abandoned' })
    expect(await records.state(key)).toBe('absent')
  })

  claim('what is completed cannot be abandoned, nor what is another’s, nor what never was', async (records) => {
    const [done, never] = [probe.key(), probe.key()]
    const first = await records.begin({ key: done })
    await records.complete({ key: done, token: first.token })
    expect(await records.abandon({ key: done, token: first.token })).toEqual({ type: 'completed' })
    expect(await records.state(done)).toBe('done')
    const stranger = { acquisitionId: probe.acquisitionId() }
    expect(await records.abandon({ key: done, ...stranger })).toMatchObject({ type: 'superseded' })
    expect(await records.abandon({ key: never, ...stranger })).toEqual({ type: 'gone' })
    const { fence } = await probe.grant({ key: never })
    expect(await records.abandon({ key: never, ...stranger })).toEqual({ type: 'gone' })
    expect(await probe.inspect(never)).toMatchObject({ held: true, fence })
  })

  claim('an abandoned run may not complete', async (records) => {
    const key = probe.key()
    const { token } = await records.begin({ key })
    await records.abandon({ key, token })
    expect(await records.complete({ key, token })).toEqual({ type: 'gone' })
    expect(await records.state(key)).toBe('absent')
  })

  claim('the lease of a claim is renewed as any other, and its record stays', async (records) => {
    const key = probe.key()
    const { token } = await records.begin({ key, ttlMs: shortMs })
    expect(await probe.renew(key, token, longMs)).toBe('renewed')
    await probe.advance(shortMs)
    expect(await records.state(key)).toBe('running, locked')
  })

  claim('a record outlives the memory of fences, and the next fence is higher all the same', async (records) => {
    const key = probe.key()
    const { fence } = await records.begin({ key, ttlMs: shortMs, keepMs: 10 * probe.fenceMemoryMs })
    await probe.advance(probe.fenceMemoryMs + shortMs)
    const second = await records.begin({ key, rerun: true })
    expect(second.fence).toBeGreaterThan(fence)
  })

  claim('it keeps rising though the clock was set back meanwhile', async (records, context) => {
    probe.needs(context, 'wall-clock')
    const key = probe.key()
    const { fence } = await records.begin({ key, ttlMs: shortMs, keepMs: 10 * probe.fenceMemoryMs })
    await probe.advance(probe.fenceMemoryMs + shortMs)
    probe.setWallClockBack(20 * probe.fenceMemoryMs)
    expect((await records.begin({ key, rerun: true })).fence).toBeGreaterThan(fence)
    probe.setWallClockBack(-20 * probe.fenceMemoryMs)
  })

  claim(
    'a bad fingerprint and a result that is too large are refused by name, and nothing is sent',
    async (records) => {
      const key = probe.key()
      for (const fingerprint of ['', 'two words', 'ß', 'x'.repeat(129), 'a\n']) {
        const error = await records.claim({ key, fingerprint }).catch((reason: unknown) => reason)
        expect(error).toBeInstanceOf(InvalidOptionError)
        expect(error).toMatchObject({ option: 'fingerprint' })
      }
      expect(await records.state(key)).toBe('absent')
      const { token } = await records.begin({ key, fingerprint: 'x'.repeat(128) })
      for (const result of [new Uint8Array(mostResultBytes + 1), 'text' as never, undefined as never]) {
        const error = await records.complete({ key, token, result }).catch((reason: unknown) => reason)
        expect(error).toMatchObject({ option: 'result' })
      }
      expect(await records.state(key)).toBe('running, locked')
    },
  )

  claim('a call that was aborted before it began does nothing', async (records) => {
    const [key, free] = [probe.key(), probe.key()]
    const over = callUntil(AbortSignal.abort())
    const notSent = { type: 'unknown', executed: 'no' }
    const { token } = await records.begin({ key })
    const run = { key, token, fingerprint: 'same', result: null, keepMs: longMs }
    expect(await records.store.claim(records.asked({ key: free }), over)).toMatchObject(notSent)
    expect(await records.store.complete(run, over)).toMatchObject(notSent)
    expect(await records.store.abandon(run, over)).toMatchObject(notSent)
    expect(await records.store.read(key, over)).toMatchObject(notSent)
    expect([await records.state(free), await records.state(key)]).toEqual(['absent', 'running, locked'])
  })
}
