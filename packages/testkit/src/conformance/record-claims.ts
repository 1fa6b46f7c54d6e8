import { type ClaimOutcome, mostResultBytes } from '@leasehold/core/records'
import { expect } from 'vitest'
import { ampleMs, longMs, type Probe, shortMs, slackMs } from './probe.ts'
import { bytes, claimOn, every } from './record-probe.ts'

/** Claims about records, for a store that keeps a record of the work under each key. */
export function recordClaims(probe: Probe): void {
  const claim = claimOn(probe)

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
    await context.expect.poll(() => heard.payloads).toEqual([`released ${fence}`])
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
    const { fence } = await records.begin({ key, ttlMs: shortMs, keepMs: shortMs + ampleMs })
    await probe.advance(shortMs)
    expect(await records.claim({ key })).toMatchObject({ type: 'in-doubt', record: { state: 'running', fence } })
    expect(await records.state(key)).toBe('running')
    await probe.advance(ampleMs)
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
}
