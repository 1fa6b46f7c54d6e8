import { attempt } from './attempt.ts'
import { readJson } from './body-text.ts'
import type { OpenChannel } from './channel.ts'
import { inDoubtS, lateMs, mostShared, refusedMs, soonMs, usualS } from './figures.ts'
import { listenerOf } from './listener.ts'

/**
 * One subscription, for which the bridge is asked again and again, one request at a time. Beyond the most that calls may
 * share it is not asked, until another has ended. Nor is it while the bridge forbids the key.
 *
 * A request that waits cannot be told from one that is lost. So it counts as heard until that turns out to be wrong, and
 * then no more until it was answered. Once it has signalled, it asks again when somebody waits for the next signal: who
 * is woken for nothing again and again paces it.
 */
export const longPoll: OpenChannel = (reach, shared, onEnd) => {
  const { clock, forbids } = reach
  let key = ''
  let since = ''
  let started = false
  let wanted = true
  /** It is taken to be heard. */
  let heard = reach.pauseMs() <= 0
  /** Somebody may rely on that. */
  let reliedOn = heard
  /** Ends the request, or the pause before it. */
  let stop: (() => void) | undefined

  const listener = listenerOf({
    isLive: () => started && heard,
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
    const seconds = heard ? usualS : inDoubtS
    let askedAtMs = 0
    const path = `/v1/wait?key=${encodeURIComponent(key)}&since=${encodeURIComponent(since)}&timeout=${seconds}s`
    /** Answers whether the lock changed; undefined for no answer of use. */
    async function wait(signal: AbortSignal): Promise<boolean | undefined> {
      askedAtMs = clock.monotonicMs()
      const answer = await reach.get(path, [key], signal)
      since = answer?.headers.get('leasehold-cursor') ?? since
      if (answer?.status === 204) return clock.monotonicMs() - askedAtMs < soonMs ? undefined : false
      const said = answer && ((await readJson(answer)) as { readonly changed?: unknown })
      return said?.changed === true || undefined
    }
    function ended(changed: boolean | undefined): void {
      stop = undefined
      heard = changed !== undefined
      wanted = !changed
      const tell = changed ?? ((forbids(key) || reach.failed()) && reliedOn)
      reliedOn = heard || (reliedOn && !tell)
      if (tell) listener.signal()
      next()
    }

    stop = attempt<boolean | undefined>(reach, 0, seconds * 1_000 + lateMs, wait, ended)
  }
  function again(): void {
    stop = undefined
    next()
  }

  listener.letGo()
  return {
    subscribe(itsKey, cursor) {
      key = itsKey
      since = cursor
      next()
      return listener
    },
    close: listener.close,
  }
}
