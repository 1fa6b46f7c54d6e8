import {
  type EnterOutcome,
  type EnterRequest,
  type LookRoomRequest,
  type PresenceStore,
  presenceOf,
  type RoomEntry,
} from '@leasehold/core/presence'
import { expect, it, type TestContext } from 'vitest'
import { callUntil } from '../call-until.ts'
import { ampleMs, longMs, type Probe, shortMs, slackMs, withOtherFence } from './probe.ts'

type Granted = Extract<EnterOutcome, { readonly type: 'granted' }>

/** Claims about rooms and who is in them, for a store that offers that. */
export function presenceClaims(probe: Probe): void {
  const port = (): PresenceStore => presenceOf(probe.store) as PresenceStore
  const call = (signal = probe.signal) => callUntil(signal)

  const enter = (request: Partial<EnterRequest> & Pick<EnterRequest, 'key'>, signal?: AbortSignal) => {
    const usual = { role: 'writer', exclusive: true, userId: 'ada', sessionId: 'tab', takeOver: 'nobody' } as const
    return port().enter({ ...usual, acquisitionId: probe.acquisitionId(), ttlMs: longMs, ...request }, call(signal))
  }
  async function entered(request: Parameters<typeof enter>[0]): Promise<Granted> {
    const outcome = await enter(request)
    expect(outcome).toMatchObject({ type: 'granted' })
    return outcome as Granted
  }
  const renewed = async (key: string, { token }: Granted, ttlMs = longMs) =>
    (await port().renew([{ key, token, ttlMs }], call()))[0]?.type
  const left = async (key: string, entry: { token: string } | { acquisitionId: string }) =>
    (await port().leave([{ key, ...entry }], call()))[0]?.type
  async function present(request: LookRoomRequest): Promise<readonly RoomEntry[]> {
    const [outcome] = await port().look([request], call())
    expect(outcome).toMatchObject({ type: 'room' })
    return (outcome as { entries: readonly RoomEntry[] }).entries
  }
  const named = (entries: readonly RoomEntry[]) => entries.map((each) => `${each.userId} ${each.sessionId}`).sort()

  const claim = (name: string, test: (context: TestContext) => Promise<void>): void =>
    it(name, async (context) => {
      if (!presenceOf(probe.store)) context.skip('presence: the store does not offer it')
      await test(context)
    })

  claim('who enters is there, with a fence, under the name of the locker, until it leaves', async () => {
    const key = probe.key()
    const first = await entered({
      key,
      acquisitionId: probe.acquisitionId('here'),
      userId: 'Ada Ü',
      sessionId: 'a:b {c}',
    })
    const [entry, ...others] = await present({ key })
    expect(others).toEqual([])
    expect(entry).toMatchObject({ userId: 'Ada Ü', sessionId: 'a:b {c}', role: 'writer', exclusive: true })
    expect(entry).toMatchObject({ fence: first.fence, server: 'here' })
    expect(entry?.expiresInMs).toBeGreaterThan(longMs - slackMs)
    expect(await left(key, first)).toBe('released')
    expect(await present({ key })).toEqual([])
    expect((await entered({ key })).fence).toBeGreaterThan(first.fence)
  })

  claim('an exclusive role has one user; a shared one as many as come', async () => {
    const key = probe.key()
    await entered({ key })
    expect(await enter({ key, userId: 'bob' })).toMatchObject({ type: 'held', by: { userId: 'ada', sessionId: 'tab' } })
    await entered({ key, userId: 'bob', role: 'reviewer' })
    for (const userId of ['cy', 'di']) await entered({ key, userId, role: 'reader', exclusive: false })
    expect(named(await present({ key }))).toEqual(['ada tab', 'bob tab', 'cy tab', 'di tab'])
  })

  claim('several sessions of a user share a role, until the last of them leaves', async () => {
    const key = probe.key()
    const tabs: Granted[] = []
    for (const sessionId of ['1', '2', '3']) tabs.push(await entered({ key, sessionId }))
    for (const tab of tabs) {
      expect(await enter({ key, userId: 'bob' })).toMatchObject({ type: 'held', by: { userId: 'ada' } })
      expect(await left(key, tab)).toBe('released')
    }
    await entered({ key, userId: 'bob' })
  })

  claim('a session that enters again displaces its earlier entry, whose late end changes nothing', async () => {
    const key = probe.key()
    const first = await entered({ key })
    const second = await entered({ key })
    expect(await renewed(key, first)).toBe('superseded')
    expect(await left(key, first)).toBe('superseded')
    expect(await present({ key })).toMatchObject([{ fence: second.fence }])
    expect(await renewed(key, second)).toBe('renewed')
  })

  claim('a session that is refused another role keeps the one it has', async () => {
    const key = probe.key()
    await entered({ key })
    const reader = await entered({ key, userId: 'bob', role: 'reader', exclusive: false })
    expect(await enter({ key, userId: 'bob' })).toMatchObject({ type: 'held' })
    expect(await renewed(key, reader)).toBe('renewed')
  })

  claim('taking over displaces the own sessions, or anyone’s, and only those in the role', async () => {
    const key = probe.key()
    const [first, second] = [await entered({ key, sessionId: '1' }), await entered({ key, sessionId: '2' })]
    const reader = await entered({ key, sessionId: '4', role: 'reader', exclusive: false })
    const third = await entered({ key, sessionId: '3', takeOver: 'mine' })
    expect([await renewed(key, first), await renewed(key, second)]).toEqual(['superseded', 'superseded'])
    expect(await enter({ key, userId: 'bob', takeOver: 'mine' })).toMatchObject({ type: 'held' })
    await entered({ key, userId: 'bob', takeOver: 'anyone' })
    expect(await renewed(key, third)).toBe('superseded')
    expect(await renewed(key, reader)).toBe('renewed')
    expect(named(await present({ key }))).toEqual(['ada 4', 'bob tab'])
    expect(await enter({ key })).toMatchObject({ type: 'held', by: { userId: 'bob' } })
  })

  claim('an entry that nobody renews ends: its role is free, and it is not listed', async () => {
    const key = probe.key()
    const short = await entered({ key, ttlMs: shortMs })
    const long = await entered({ key, userId: 'bob', role: 'reviewer' })
    const [found] = await port().look([{ key }], call())
    const version = (found as { version: string }).version
    await probe.advance(shortMs)
    expect(await renewed(key, short)).toBe('gone')
    expect(await left(key, short)).toBe('gone')
    expect(named(await present({ key, version }))).toEqual(['bob tab'])
    await entered({ key, userId: 'cy' })
    expect(await renewed(key, long)).toBe('renewed')
  })

  claim('a renewal extends an entry and never shortens it, and each is answered by itself', async () => {
    const [key, other] = [probe.key(), probe.key()]
    const [mine, short] = [await entered({ key }), await entered({ key: other, ttlMs: ampleMs })]
    const requests = [
      { key, token: mine.token, ttlMs: 1 },
      { key, token: withOtherFence(mine.token), ttlMs: longMs },
      { key: other, token: short.token, ttlMs: longMs },
    ]
    const outcomes = await port().renew(requests, call())
    expect(outcomes.map(({ type }) => type)).toEqual(['renewed', 'gone', 'renewed'])
    await probe.advance(ampleMs)
    for (const room of [key, other])
      expect((await present({ key: room }))[0]?.expiresInMs).toBeGreaterThan(longMs - slackMs)
  })

  claim('a repeat of an enter finds its own entry; once that has ended, it is spent', async () => {
    const key = probe.key()
    const acquisitionId = probe.acquisitionId()
    const first = await entered({ key, acquisitionId })
    expect(await enter({ key, acquisitionId })).toEqual(first)
    expect(await left(key, first)).toBe('released')
    expect(await enter({ key, acquisitionId })).toEqual({ type: 'spent' })
    expect(await left(key, first)).toBe('released')
    expect(await present({ key })).toEqual([])
  })

  claim('an enter is undone by its acquisition id alone', async () => {
    const key = probe.key()
    const acquisitionId = probe.acquisitionId()
    expect(await left(key, { acquisitionId })).toBe('gone')
    await entered({ key, acquisitionId })
    expect(await left(key, { acquisitionId })).toBe('released')
    expect(await present({ key })).toEqual([])
  })

  claim('a look finds who has a role, or whether a user has it', async () => {
    const key = probe.key()
    for (const sessionId of ['1', '2']) await entered({ key, sessionId })
    await entered({ key, sessionId: '3', role: 'reader', exclusive: false })
    expect(named(await present({ key, role: 'writer' }))).toEqual(['ada 1', 'ada 2'])
    expect(await present({ key, role: 'reviewer' })).toEqual([])
    expect(named(await present({ key, role: 'reader', userId: 'ada' }))).toEqual(['ada 3'])
    expect(await present({ key, role: 'writer', userId: 'bob' })).toEqual([])
  })

  claim('a room that did not change is not listed again', async () => {
    const [key, other] = [probe.key(), probe.key()]
    const first = await entered({ key })
    const looks = async (version?: string) => (await port().look([{ key, version }, { key: other }], call()))[0]
    const { version } = (await looks()) as { version: string }
    expect(await looks(version)).toEqual({ type: 'same' })
    await renewed(key, first)
    expect(await looks(version)).toEqual({ type: 'same' })
    await left(key, first)
    expect(await looks(version)).toMatchObject({ type: 'room', entries: [] })
  })

  claim('what changes a room is announced on its channel', async (context) => {
    probe.needs(context, 'announcements')
    const key = probe.key()
    const heard = await probe.listen(key)
    await left(key, await entered({ key }))
    await context.expect.poll(() => heard.payloads).toEqual(['room', 'room'])
    await heard.close()
  })

  claim('a lock of the same key is another thing', async () => {
    const key = probe.key()
    await entered({ key })
    const { token } = await probe.grant({ key })
    expect(await probe.release({ key, token })).toBe('released')
    expect(named(await present({ key }))).toEqual(['ada tab'])
  })

  claim('of many who want a role at once, one has it', async () => {
    const key = probe.key()
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, at) => enter({ key, userId: `user-${at}` })))
    const types = outcomes.map(({ type }) => type).sort()
    expect(types).toEqual(['granted', ...Array.from({ length: 19 }, () => 'held')])
  })

  claim('a call that was aborted before it began does nothing', async () => {
    const key = probe.key()
    expect(await enter({ key }, AbortSignal.abort())).toMatchObject({ type: 'unknown', executed: 'no' })
    expect(await present({ key })).toEqual([])
  })
}
