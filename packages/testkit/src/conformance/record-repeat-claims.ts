import { InvalidOptionError } from '@leasehold/core'
import { mostResultBytes } from '@leasehold/core/records'
import { expect } from 'vitest'
import { callUntil } from '../call-until.ts'
import { ampleMs, longMs, type Probe, shortMs, slackMs } from './probe.ts'
import { bytes, claimOn } from './record-probe.ts'

/** Claims about repeated or late requests for a record, and about runs that end without a result. */
export function recordRepeatClaims(probe: Probe): void {
  const claim = claimOn(probe)

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
    // The fence record lives on with them.
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
    // A doubt without a run can be ended by the acquisition id, which is all that the caller has after a lost answer.
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
    // Releasing it as a lease is a repeat, too.
    expect(await probe.release({ key, token })).toBe('released')
  })

  claim('abandon leaves the key as if it had never been claimed, and tells its waiters', async (records, context) => {
    probe.needs(context, 'announcements')
    const key = probe.key()
    const heard = await probe.listen(key)
    const { token, fence } = await records.begin({ key })
    expect(await records.abandon({ key, token })).toMatchObject({ type: 'abandoned', announced: true })
    await context.expect.poll(() => heard.payloads).toEqual([`released ${fence}`])
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

  claim('to give up a claim of a key in doubt, in either way, leaves it in doubt as it was', async (records) => {
    for (const by of ['token', 'acquisition id']) {
      const [key, acquisitionId] = [probe.key(), probe.acquisitionId()]
      const first = await records.leaveInDoubt(key)
      const second = await records.begin({ key, acquisitionId, rerun: true })
      const request = by === 'token' ? { key, token: second.token } : { key, acquisitionId }
      for (let i = 0; i < 2; i++) expect(await records.abandon(request)).toMatchObject({ type: 'abandoned' })
      const record = { state: 'running', fence: first.fence, fingerprint: 'same' }
      expect(await records.claim({ key })).toMatchObject({ type: 'in-doubt', record })
      expect(await records.claim({ key, fingerprint: 'other', rerun: true })).toEqual({ type: 'mismatch' })
      expect(await records.claim({ key, acquisitionId, rerun: true })).toEqual({ type: 'spent' })
      for (const { expiresInMs } of await probe.entriesOf(key)) expect(expiresInMs).toBeGreaterThan(0)
      expect((await records.begin({ key, rerun: true })).overtook).toBe(first.fence)
    }
  })

  claim('a claim of a key in doubt never shortens its doubt, even if it is given up', async (records) => {
    const key = probe.key()
    await records.begin({ key, ttlMs: shortMs, keepMs: 3 * longMs })
    await probe.advance(shortMs)
    const { token } = await records.begin({ key, rerun: true, keepMs: shortMs })
    expect((await records.read(key)).record?.expiresInMs).toBeGreaterThan(3 * longMs - shortMs - slackMs)
    await records.abandon({ key, token })
    expect((await records.read(key)).record?.expiresInMs).toBeGreaterThan(3 * longMs - shortMs - slackMs)
  })

  claim('a run in doubt may complete once its successor has given up', async (records) => {
    const key = probe.key()
    const { token, fence } = await records.leaveInDoubt(key)
    const second = await records.begin({ key, rerun: true })
    expect(await records.complete({ key, token })).toMatchObject({ type: 'superseded' })
    await records.abandon({ key, token: second.token })
    expect(await records.complete({ key, token })).toMatchObject({ type: 'completed' })
    expect(await records.claim({ key })).toMatchObject({ type: 'done', record: { fence } })
  })

  claim('the doubt of the first run outlasts all that were claimed after it and gave up', async (records) => {
    const key = probe.key()
    const runs = [await records.leaveInDoubt(key)]
    for (let i = 0; i < 3; i++) {
      runs.push(await records.begin({ key, ttlMs: shortMs, rerun: true }))
      await probe.advance(shortMs)
    }
    const [first, , third, last] = runs.map(({ fence, token }) => ({ fence, token }))
    if (!first || !third || !last) throw new Error('four runs')
    expect(await records.abandon({ key, token: last.token })).toMatchObject({ type: 'abandoned' })
    expect(await records.claim({ key })).toMatchObject({ type: 'in-doubt', record: { fence: third.fence } })
    expect(await records.abandon({ key, token: third.token })).toMatchObject({ type: 'abandoned' })
    expect(await records.claim({ key })).toMatchObject({ type: 'in-doubt', record: { fence: first.fence } })
    // The run itself says that it is undone, and no run came before it.
    expect(await records.abandon({ key, token: first.token })).toMatchObject({ type: 'abandoned' })
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
    const { token } = await records.begin({ key, ttlMs: ampleMs })
    expect(await probe.renew(key, token, longMs)).toBe('renewed')
    await probe.advance(ampleMs)
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
