import { expect } from 'vitest'
import { ampleMs, longMs, type Probe, shortMs } from './probe.ts'
import { QueueProbe, semaphoreOf } from './queue-probe.ts'

/** Claims about how waiters go: they leave, die, or do not take their turn. Nothing of them may remain. */
export function queueLeavingClaims(probe: Probe): void {
  const queues = new QueueProbe(probe)
  const { claim } = queues

  claim('who leaves loses its place, or its turn, which the next one gets', async () => {
    const [key, { name: inbox, waiter }] = [probe.key(), queues.inbox()]
    const { token } = await queues.take({ key })
    await queues.enter({ key, waiter: waiter(1) })
    await queues.enter({ key, waiter: waiter(2) })
    const last = await queues.enter({ key, waiter: waiter(3) })
    const acquisitionId = probe.acquisitionId()
    expect(await queues.leave({ key, inbox, number: 2, acquisitionId })).toBe('left')
    expect(await queues.leave({ key, inbox, number: 2, acquisitionId })).toBe('absent')
    await queues.release({ key, token })
    expect(await queues.leave({ key, inbox, number: 1, acquisitionId: undefined })).toBe('left')
    expect(await queues.look(key, inbox, [1, 2, 3])).toMatchObject({ turns: [3], missing: [1, 2] })
    expect(await queues.ask(last.request)).toMatchObject({ type: 'granted' })
  })

  claim('who leaves gives back what its tries have taken', async () => {
    const [key, { name: inbox, waiter }] = [probe.key(), queues.inbox()]
    const request = queues.request({ key, waiter: waiter(1) })
    const { acquisitionId } = request
    await queues.ask(request)
    await queues.enter({ key, waiter: waiter(2) })
    expect(await queues.leave({ key, inbox, number: 1, acquisitionId })).toBe('left')
    expect((await probe.inspect(key)).held).toBe(false)
    expect(await queues.look(key, inbox, [2])).toMatchObject({ turns: [2] })
    expect(await queues.leave({ key, inbox, number: 1, acquisitionId })).toBe('left')
    const other = probe.acquisitionId()
    expect(await queues.leave({ key, inbox, number: 1, acquisitionId: other })).toBe('absent')
  })

  claim('an inbox dies with its waiters if nothing is heard of it; a look keeps it alive', async () => {
    const key = probe.key()
    const [dead, alive] = [queues.inbox({ aliveMs: ampleMs }), queues.inbox({ aliveMs: ampleMs })]
    const { token } = await queues.take({ key })
    await queues.enter({ key, waiter: dead.waiter(1) })
    await queues.enter({ key, waiter: alive.waiter(1) })
    await queues.look(key, alive.name, [])
    await probe.advance(ampleMs)
    await queues.release({ key, token })
    expect(await queues.look(key, alive.name, [1])).toMatchObject({ turns: [1], missing: [] })
    expect(await queues.look(key, dead.name, [1])).toMatchObject({ turns: [], missing: [1] })
  })

  claim('a turn that is not taken voids all waiters of its inbox, and the next inbox has it', async () => {
    const key = probe.key()
    const [frozen, next] = [queues.inbox({ windowMs: shortMs }), queues.inbox()]
    const { token } = await queues.take({ key })
    const first = await queues.enter({ key, waiter: frozen.waiter(1) })
    await queues.enter({ key, waiter: frozen.waiter(2) })
    await queues.enter({ key, waiter: next.waiter(1) })
    await queues.enter({ key, waiter: frozen.waiter(3) })
    await queues.release({ key, token })
    await probe.advance(shortMs)
    expect(await queues.look(key, next.name, [1])).toMatchObject({ turns: [1], missing: [] })
    expect(await queues.look(key, frozen.name, [1, 2, 3])).toMatchObject({ turns: [], missing: [1, 2, 3] })
    // It enters at the end; its other waiters are still out.
    expect(await queues.ask(first.request)).toMatchObject({ type: 'queued' })
    expect(await queues.look(key, frozen.name, [1, 2, 3])).toMatchObject({ missing: [2, 3] })
  })

  claim('its other turns go with it', async () => {
    const [key, kind] = [probe.key(), semaphoreOf(2)]
    const [frozen, next] = [queues.inbox({ windowMs: ampleMs }), queues.inbox()]
    const { token } = await queues.take({ key, kind, permits: 2 })
    await queues.enter({ key, kind, waiter: frozen.waiter(1) })
    await queues.enter({ key, kind, waiter: { ...frozen.waiter(2), windowMs: longMs / 2 } })
    const both = await queues.enter({ key, kind, permits: 2, waiter: next.waiter(1) })
    await queues.release({ key, exclusive: false, token })
    expect([...(await queues.look(key, frozen.name, [])).turns].sort()).toEqual([1, 2])
    await probe.advance(ampleMs)
    expect(await queues.ask(both.request)).toMatchObject({ type: 'granted' })
  })

  claim('an inbox that was heard and hears nothing any more is passed over in the same call', async (context) => {
    probe.needs(context, 'announcements')
    probe.needs(context, 'inbox-count')
    const [key, gone, next] = [probe.key(), queues.inbox(), queues.inbox()]
    const heard = await probe.listenInbox(gone.name)
    const { token } = await queues.take({ key })
    await queues.enter({ key, waiter: gone.waiter(1) })
    await queues.enter({ key, waiter: next.waiter(1) })
    await heard.close()
    await queues.release({ key, token })
    expect(await queues.look(key, next.name, [1])).toMatchObject({ turns: [1] })
  })

  claim('an inbox in which nobody was counted keeps its turn', async () => {
    const [key, silent] = [probe.key(), queues.inbox()]
    const { token } = await queues.take({ key })
    const { request } = await queues.enter({ key, waiter: silent.waiter(1) })
    await queues.enter({ key, waiter: queues.inbox().waiter(1) })
    await queues.release({ key, token })
    expect(await queues.ask(request)).toMatchObject({ type: 'granted' })
  })

  claim('one call drops 100 waiters; if more are left, it makes all look', async (context) => {
    probe.needs(context, 'announcements')
    const [key, gone, alive] = [probe.key(), queues.inbox({ windowMs: 1 }), queues.inbox()]
    const heard = await probe.listen(key)
    const { token } = await queues.take({ key })
    await Promise.all(Array.from({ length: 105 }, (_, number) => queues.enter({ key, waiter: gone.waiter(number) })))
    await queues.enter({ key, waiter: alive.waiter(1) })
    await queues.release({ key, token })
    await probe.advance(1)
    expect(await queues.leave({ key, inbox: alive.name, number: 2, acquisitionId: undefined })).toBe('absent')
    expect((await queues.state(key)).waiting).toBe(6)
    await context.expect.poll(() => heard.payloads).toEqual(['released -'])
    expect(await queues.look(key, alive.name, [1])).toMatchObject({ turns: [1], missing: [] })
    expect((await queues.state(key)).waiting).toBe(1)
    await heard.close()
  })

  claim('a change of the capacity, too, makes all look if more than 100 are left', async (context) => {
    probe.needs(context, 'announcements')
    const [key, kind] = [probe.key(), semaphoreOf(1)]
    const [gone, alive] = [queues.inbox({ windowMs: 1 }), queues.inbox()]
    const heard = await probe.listen(key)
    const { token } = await queues.take({ key, kind })
    const dead = Array.from({ length: 105 }, (_, number) => queues.enter({ key, kind, waiter: gone.waiter(number) }))
    await Promise.all(dead)
    await queues.enter({ key, kind, waiter: alive.waiter(1) })
    await queues.release({ key, exclusive: false, token })
    await probe.advance(1)
    expect(await queues.resize(key, semaphoreOf(2))).toBe('resized')
    expect((await queues.state(key)).waiting).toBe(6)
    await context.expect.poll(() => heard.payloads).toEqual(['released -'])
    expect(await queues.look(key, alive.name, [1])).toMatchObject({ turns: [1], missing: [] })
    await heard.close()
  })

  claim('every entry of a queue has an expiry, and the last waiter takes all of them with it', async () => {
    const [key, inbox, kind] = [probe.key(), queues.inbox(), semaphoreOf(1)]
    const fenceOnly = async (): Promise<void> => {
      const entries = await probe.entriesOf(key)
      expect(entries.map(({ name }) => name)).toEqual([expect.stringMatching(/fence/)])
    }
    for (const wish of [{}, { kind }]) {
      const { token } = await queues.take({ key, ...wish })
      const { request } = await queues.enter({ key, waiter: inbox.waiter(1), ...wish })
      for (const { name, expiresInMs } of await probe.entriesOf(key)) {
        expect(expiresInMs, name).toBeGreaterThan(0)
      }
      await queues.release({ key, token, exclusive: !('kind' in wish) })
      const granted = await queues.take(request)
      await queues.release({ key, token: granted.token, exclusive: !('kind' in wish) })
      await fenceOnly()
      // A request that does not wait, or finds nothing, leaves no entry.
      await queues.look(key, inbox.name, [1])
      await queues.leave({ key, inbox: inbox.name, number: 1, acquisitionId: probe.acquisitionId() })
      await fenceOnly()
    }
  })

  claim('two minutes after the last call nothing is left of a queue that nobody has left', async (context) => {
    probe.needs(context, 'long-times')
    const [key, inbox] = [probe.key(), queues.inbox({ aliveMs: 18_000, windowMs: 6_000 })]
    await queues.take({ key, ttlMs: 10_000 })
    await queues.enter({ key, waiter: inbox.waiter(1) })
    await probe.advance(120_000)
    expect(await queues.state(key)).toMatchObject({ kind: null, waiting: 0 })
    for (const { name } of await probe.entriesOf(key)) expect(name).toMatch(/fence/)
  })
}
