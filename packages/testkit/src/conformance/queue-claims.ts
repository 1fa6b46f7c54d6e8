import { expect } from 'vitest'
import { ampleMs, longMs, type Probe, shortMs, slackMs } from './probe.ts'
import { QueueProbe } from './queue-probe.ts'

/** Claims about the queue of a lock for one holder: order, turns, and what plain requests see of it. */
export function queueClaims(probe: Probe): void {
  const queues = new QueueProbe(probe)
  const { claim } = queues

  claim('a lock that nobody has is granted as by a plain acquire', async () => {
    const key = probe.key()
    const acquisitionId = probe.acquisitionId('first')
    const { token, fence } = await queues.take({ key, acquisitionId, waiter: queues.inbox().waiter(1) })
    expect(token).toBe(`${acquisitionId}.${fence}`)
    expect(await probe.inspect(key)).toMatchObject({ held: true, holder: 'first', fence })
    expect(await probe.renew(key, token, 2 * longMs)).toBe('renewed')
    expect(await probe.leftMs(key)).toBeGreaterThan(2 * longMs - slackMs)
    expect(await queues.release({ key, token })).toBe('released')
    expect((await probe.grant({ key })).fence).toBeGreaterThan(fence)
  })

  claim('who finds it held enters the queue, and learns where it stands, and when to look', async () => {
    const [key, inbox] = [probe.key(), queues.inbox()]
    await probe.grant({ key, acquisitionId: probe.acquisitionId('holder') })
    const first = await queues.enter({ key, waiter: inbox.waiter(1) })
    expect(first).toMatchObject({ position: 0, holder: 'holder' })
    expect(first.againInMs).toBeGreaterThan(longMs - slackMs)
    expect(first.againInMs).toBeLessThanOrEqual(longMs)
    expect(await queues.enter({ key, waiter: inbox.waiter(2) })).toMatchObject({ position: 1 })
    expect(await queues.ask(first.request)).toMatchObject({ type: 'queued', position: 0 })
    expect(await queues.state(key)).toMatchObject({ waiting: 2 })
  })

  claim('a release gives the turn to the front alone, and only it takes the lock among those who queue', async () => {
    const [key, inbox, other] = [probe.key(), queues.inbox(), queues.inbox()]
    const { token, fence } = await queues.take({ key })
    const first = await queues.enter({ key, waiter: inbox.waiter(1) })
    const second = await queues.enter({ key, waiter: other.waiter(1) })
    await queues.release({ key, token })
    expect((await probe.inspect(key)).held).toBe(false)
    expect(await queues.ask(second.request)).toMatchObject({ type: 'queued', position: 1, holder: null })
    expect(await queues.ask(queues.request({ key }))).toEqual({ type: 'held', expiresInMs: null, holder: null })
    expect(await queues.enter({ key, waiter: other.waiter(2) })).toMatchObject({ position: 2 })
    const granted = await queues.take(first.request)
    expect(granted.fence).toBeGreaterThan(fence)
    await queues.release({ key, token: granted.token })
    expect(await queues.ask(second.request)).toMatchObject({ type: 'granted' })
  })

  claim('whoever has the turn is told by its number, on its inbox', async (context) => {
    probe.needs(context, 'announcements')
    const [key, inbox] = [probe.key(), queues.inbox()]
    const heard = await probe.listenInbox(inbox.name)
    const { token } = await queues.take({ key })
    await queues.enter({ key, waiter: inbox.waiter(7) })
    await queues.enter({ key, waiter: inbox.waiter(3) })
    await queues.release({ key, token })
    await context.expect.poll(() => heard.payloads).toEqual(['turn 7'])
    await heard.close()
  })

  claim('an inbox that nobody subscribes to is told by name, on the channel of the key', async (context) => {
    probe.needs(context, 'announcements')
    const [key, inbox] = [probe.key(), queues.inbox({ listens: false })]
    const heard = await probe.listen(key)
    const { token } = await queues.take({ key })
    await queues.enter({ key, waiter: inbox.waiter(7) })
    await queues.release({ key, token })
    await context.expect.poll(() => heard.payloads).toEqual([`turn ${inbox.name}.7`])
    await heard.close()
  })

  claim('a release is announced if nobody queues', async (context) => {
    probe.needs(context, 'announcements')
    const key = probe.key()
    const heard = await probe.listen(key)
    const { token, fence } = await queues.take({ key })
    await queues.release({ key, token })
    await context.expect.poll(() => heard.payloads).toEqual([`released ${fence}`])
    await heard.close()
  })

  claim('a look says who has the turn, and who is missing', async () => {
    const [key, inbox] = [probe.key(), queues.inbox()]
    expect(await queues.look(key, inbox.name, [1])).toEqual({
      type: 'looked',
      turns: [],
      missing: [1],
      againInMs: null,
    })
    const { token } = await probe.grant({ key })
    await queues.enter({ key, waiter: inbox.waiter(1) })
    await queues.enter({ key, waiter: queues.inbox().waiter(2) })
    await probe.release({ key, token })
    const { turns, missing, againInMs } = await queues.look(key, inbox.name, [2, 3])
    expect([turns, missing]).toEqual([[1], [2, 3]])
    expect(againInMs).toBeGreaterThan(longMs / 2 - slackMs)
    expect(againInMs).toBeLessThanOrEqual(longMs / 2)
  })

  claim('a plain acquire may go first: then the turn is withdrawn, and its waiter keeps its place', async () => {
    const [key, inbox] = [probe.key(), queues.inbox({ windowMs: ampleMs })]
    const { token } = await queues.take({ key })
    const first = await queues.enter({ key, waiter: inbox.waiter(1) })
    await queues.enter({ key, waiter: queues.inbox().waiter(1) })
    await queues.release({ key, token })
    const barging = await probe.grant({ key })
    expect(await queues.look(key, inbox.name, [1])).toMatchObject({ turns: [], missing: [] })
    await probe.advance(ampleMs)
    expect(await queues.ask(first.request)).toMatchObject({ type: 'queued', position: 0 })
    await probe.release({ key, token: barging.token })
    expect(await queues.ask(first.request)).toMatchObject({ type: 'granted' })
  })

  claim('a repeat finds its own lease and extends it, never to less; one that came and went is spent', async () => {
    const [key, inbox] = [probe.key(), queues.inbox()]
    const request = queues.request({ key, ttlMs: longMs, waiter: inbox.waiter(1) })
    const granted = await queues.ask(request)
    expect(await queues.ask({ ...request, ttlMs: 3 * longMs })).toEqual(granted)
    expect(await queues.ask({ ...request, ttlMs: shortMs })).toEqual(granted)
    expect(await probe.leftMs(key)).toBeGreaterThan(3 * longMs - slackMs)
    await queues.release({ key, token: (granted as { readonly token: string }).token })
    expect(await queues.ask(request)).toEqual({ type: 'spent' })
    expect(await queues.state(key)).toMatchObject({ kind: null, holders: [], waiting: 0 })
  })

  claim('a try without a waiter takes only what nobody queues for, and leaves no entry', async () => {
    const [key, inbox] = [probe.key(), queues.inbox()]
    const { token } = await queues.take({ key })
    expect(await queues.ask(queues.request({ key }))).toMatchObject({ type: 'held' })
    expect((await queues.state(key)).waiting).toBe(0)
    const { request } = await queues.enter({ key, waiter: inbox.waiter(1) })
    await queues.release({ key, token })
    expect(await queues.ask(queues.request({ key }))).toMatchObject({ type: 'held', holder: null })
    expect(await queues.ask(request)).toMatchObject({ type: 'granted' })
  })

  claim('a class is overtaken by a better one that arrives within its step, and not later', async () => {
    const key = probe.key()
    const { waiter } = queues.inbox()
    await queues.take({ key })
    await queues.enter({ key, waiter: { ...waiter(1), priorityClass: 1 } })
    expect(await queues.enter({ key, waiter: waiter(2) })).toMatchObject({ position: 0 })
    expect(await queues.enter({ key, waiter: { ...waiter(3), priorityClass: 9 } })).toMatchObject({ position: 2 })
    await probe.advance(2_000)
    expect(await queues.enter({ key, waiter: waiter(4) })).toMatchObject({ position: 2 })
  })

  claim('no class takes a turn away', async () => {
    const key = probe.key()
    const { waiter } = queues.inbox()
    const { token } = await queues.take({ key })
    const last = await queues.enter({ key, waiter: { ...waiter(1), priorityClass: 9 } })
    await queues.release({ key, token })
    expect(await queues.enter({ key, waiter: waiter(2) })).toMatchObject({ position: 1 })
    expect(await queues.ask(last.request)).toMatchObject({ type: 'granted' })
  })

  claim('a repeated release is told the truth, also when the next has the lock', async () => {
    const [key, inbox] = [probe.key(), queues.inbox()]
    const { token } = await queues.take({ key })
    const { request } = await queues.enter({ key, waiter: inbox.waiter(1) })
    await queues.release({ key, token })
    expect(await queues.release({ key, token })).toBe('released')
    await queues.take(request)
    expect(await queues.release({ key, token })).toBe('released')
    expect(await queues.release({ key, token: token.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) })).toBe(
      'superseded',
    )
    expect((await probe.inspect(key)).held).toBe(true)
  })

  claim('an inspection shows holders and waiters in order, and never a token', async () => {
    const [key, inbox] = [probe.key(), queues.inbox()]
    expect(await queues.state(key)).toEqual({
      type: 'state',
      kind: null,
      held: 0,
      holders: [],
      waiters: [],
      waiting: 0,
    })
    const { token, fence } = await queues.take({ key, acquisitionId: probe.acquisitionId('holder') })
    await queues.enter({ key, waiter: inbox.waiter(1) })
    const { holders, ...state } = await queues.state(key)
    const waiters = [{ permits: 1, hasTurn: false }]
    expect(state).toEqual({ type: 'state', kind: { name: 'exclusive', capacity: 1 }, held: 1, waiters, waiting: 1 })
    expect(holders).toMatchObject([{ holder: 'holder', fence, permits: 1 }])
    expect(holders[0]?.expiresInMs).toBeGreaterThan(longMs - slackMs)
    await queues.release({ key, token })
    expect(await queues.state(key)).toMatchObject({ holders: [], waiters: [{ hasTurn: true }] })
  })

  claim('a call that was aborted before it began does nothing', async () => {
    const [key, inbox] = [probe.key(), queues.inbox()]
    const request = queues.request({ key, waiter: inbox.waiter(1) })
    expect(await queues.ask(request, AbortSignal.abort())).toMatchObject({ type: 'unknown', executed: 'no' })
    expect(await queues.state(key)).toMatchObject({ kind: null, waiting: 0 })
  })
}
