import { attempt } from './attempt.ts'
import { readJson } from './body-text.ts'
import type { OpenChannel } from './channel.ts'
import { inDoubtS, lateMs, mostShared, refusedMs, soonMs, unkeptS, usualS } from './figures.ts'
import { subscriberOf } from './subscriber.ts'

/**
 * One subscription. It polls the bridge repeatedly, one request at a time. It does not poll while calls already have as
 * many polls as they may share, or while the bridge forbids the key.
 *
 * A request that is waiting looks like one that is lost. So the subscription counts as heard until a request fails, and
 * then not again until the bridge answers. After a signal it polls again only when somebody waits for the next one.
 * That limits its pace if its signals are spurious.
 */
export const longPoll: OpenChannel = (reach, shared, onEnd) => {
  const { clock, forbids } = reach
  let key = ''
  let since = ''
  let more = ''
  /** Whether it polls, and has a place among the polls that calls share. */
  let started = false
  /** Whether somebody waits for a signal. */
  let wanted = true
  /** Whether it counts as heard. */
  let heard = reach.pauseMs() <= 0
  /** Whether somebody may rely on that. */
  let reliedOn = heard
  /** Stops the request, or the pause before it. */
  let stop: (() => void) | undefined

  const subscriber = subscriberOf({
    isLive: () => started && heard && !(isQueued() && reach.keepsPlaces === false),
    awaited() {
      wanted = true
      next()
    },
    closed() {
      leave()
      stop?.()
      onEnd()
    },
  })

  const isQueued = (): boolean => more.startsWith('&w')

  /** Gives its place back. */
  function leave(): void {
    if (started && shared) reach.polls--
    started = false
  }

  function next(): void {
    if (stop || !wanted || reach.closed) return
    if (forbids(key)) {
      leave()
      stop = clock.schedule(again, refusedMs, 'background')
      return
    }
    if (!started && shared) {
      if (reach.polls >= mostShared) return
      reach.polls++
    }
    started = true
    const seconds = !heard ? inDoubtS : isQueued() && !reach.keepsPlaces ? unkeptS : usualS
    stop = attempt<boolean | undefined>(reach, 0, seconds * 1_000 + lateMs, (signal) => ask(seconds, signal), ended)
  }

  function again(): void {
    stop = undefined
    next()
  }

  /** Resolves with whether the lock changed; undefined if the answer is useless. */
  async function ask(seconds: number, signal: AbortSignal): Promise<boolean | undefined> {
    const askedAtMs = clock.monotonicMs()
    const answer = await reach.get(
      'wait',
      [key],
      signal,
      `&since=${encodeURIComponent(since)}&timeout=${seconds}s${more}`,
    )
    since = answer?.headers.get('leasehold-cursor') ?? since
    if (answer && isQueued()) reach.keepsPlaces = answer.headers.get('leasehold-kept') !== null
    if (answer?.status === 204) {
      if (clock.monotonicMs() - askedAtMs < soonMs) return undefined
      // If nobody keeps its place, the waiter has to ask the store.
      return isQueued() && !reach.keepsPlaces
    }
    const said = answer && ((await readJson(answer)) as { readonly changed?: unknown })
    return said?.changed === true || undefined
  }

  function ended(changed: boolean | undefined): void {
    heard = changed !== undefined
    wanted = !changed
    const check = changed ?? ((forbids(key) || reach.failed()) && reliedOn)
    reliedOn = heard || (reliedOn && !check)
    if (check) subscriber.signal()
    again()
  }

  subscriber.settle()
  return {
    subscribe(itsKey, cursor, itsMore = '') {
      key = itsKey
      more = itsMore
      since = cursor
      next()
      return subscriber
    },
    close: subscriber.close,
  }
}
