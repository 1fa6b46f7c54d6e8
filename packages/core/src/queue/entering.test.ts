import { follow, replyAfter, ScriptedNotifier } from '@leasehold/testkit'
import { expect, it } from 'vitest'
import { type QueueingProcess, queueing } from '../../test/queueing.ts'
import { ScriptedInbox, withInbox } from '../../test/scripted-inbox.ts'

const listening = ({ store }: QueueingProcess): readonly (boolean | undefined)[] =>
  store.called('queue.acquire').map(({ requests: [request] }) => request?.waiter?.listens)

it('a call takes a free lock without an inbox', async () => {
  const { clock, process } = queueing()
  const inbox = new ScriptedInbox()
  const one = process({ notifier: withInbox(new ScriptedNotifier(), inbox) })
  const first = one.queue({ wait: '500ms' })
  await clock.advance(0)
  expect(first).toMatchObject({ state: 'fulfilled', value: { commands: 1 } })
  expect(inbox.opened).toBe(0)
})

it('a call that has to wait enters the queue once its inbox hears', async () => {
  const { clock, process } = queueing()
  const inbox = new ScriptedInbox()
  const [one, two] = [process(), process({ notifier: withInbox(new ScriptedNotifier(), inbox) })]
  await one.locks.acquire('k')
  two.queue()
  await clock.advance(300)
  expect(listening(two)).toEqual([undefined])
  inbox.confirm()
  await clock.advance(0)
  expect(listening(two)).toEqual([undefined, true])
  const stop = new AbortController()
  const gone = process({ notifier: withInbox(new ScriptedNotifier(), new ScriptedInbox()) }).queue({
    signal: stop.signal,
  })
  await clock.advance(100)
  stop.abort('enough')
  await clock.advance(0)
  expect(gone.reason).toBe('enough')
})

it('a subscriber that says nothing costs a second in all, and half of a short wait at most', async () => {
  const { clock, process } = queueing()
  const inbox = new ScriptedInbox()
  const [one, two] = [process(), process({ notifier: withInbox(new ScriptedNotifier(), inbox) })]
  await one.locks.acquire('k')
  const triedAtMs = async (waitMs: number): Promise<readonly number[]> => {
    const sinceMs = clock.monotonicMs()
    two.store.calls.length = 0
    two.queue({ wait: waitMs })
    await clock.advance(waitMs + 100)
    return two.store.called('queue.acquire').map(({ atMs }) => atMs - sinceMs)
  }
  expect(await triedAtMs(500)).toEqual([0, 250])
  expect(await triedAtMs(500)).toEqual([0, 250])
  expect(await triedAtMs(500)).toEqual([0, 0])
})

it('a subscriber that speaks again is waited for again', async () => {
  const { clock, process } = queueing()
  const inbox = new ScriptedInbox()
  const [one, two] = [process(), process({ notifier: withInbox(new ScriptedNotifier(), inbox) })]
  await one.locks.acquire('k')
  two.queue({ wait: '3s' })
  await clock.advance(3_000)
  inbox.confirm()
  await clock.advance(0)
  inbox.silence()
  two.store.calls.length = 0
  two.queue()
  await clock.advance(900)
  expect(listening(two)).toEqual([undefined])
  await clock.advance(100)
  expect(listening(two)).toEqual([undefined, false])
})

it('calls of one process enter in order, though only the first tries before that', async () => {
  const { clock, process } = queueing()
  const [one, two] = [process(), process()]
  const held = await one.locks.acquire('k')
  const order: string[] = []
  const visit = (name: string, signal?: AbortSignal): void => {
    const visiting = two.locks.acquire('k', signal && { signal }).then((lease) => {
      order.push(name)
      return lease.release()
    })
    follow(visiting, clock)
  }
  two.store.next('queue.acquire', replyAfter(300))
  const stop = new AbortController()
  visit('a')
  visit('gone', stop.signal)
  await clock.advance(100)
  // It was behind the first, and those after it still are.
  stop.abort()
  await clock.advance(0)
  visit('b')
  visit('c')
  await clock.advance(300)
  expect(listening(two)).toEqual([undefined, true, true, true])
  await held.release()
  await clock.advance(100)
  expect(order).toEqual(['a', 'b', 'c'])
})
