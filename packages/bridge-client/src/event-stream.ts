import { type Alive, attempt } from './attempt.ts'
import { readText } from './body-text.ts'
import type { OpenChannel } from './channel.ts'
import { eventParser } from './event-parser.ts'
import { joinMs, longestPath, mostKeys, openMs, recentMs, refusedMs, silenceMs } from './figures.ts'
import { type Listener, listenerOf } from './listener.ts'

interface Connection {
  /** Each key it was opened for: undefined until its state was told, then when it last became free; -Infinity for never. */
  readonly heard: Map<string, number | undefined>
  stop(): void
}

/**
 * The keys of a connection are fixed. For a new key a second one is *opening* for all keys, and the first stays *current*
 * until that has opened, so that what was heard goes on being heard. Each begins with the state of its keys, which tells
 * what was released while there was no connection.
 *
 * A key that the bridge has forbidden is left out for a while; who waits for it checks by himself.
 */
export const eventStream: OpenChannel = (reach, shared, onEnd) => {
  const { clock, forbids } = reach
  const listeners = new Map<Listener, string>()
  let current: Connection | undefined
  let opening: Connection | undefined
  /** Somebody may rely on what is heard. */
  let reliedOn = false
  /** Cancels the timer after which a forbidden key is asked for again. */
  let cancel: (() => void) | undefined

  const keys = (...more: string[]): string[] => [...new Set([...listeners.values(), ...more])]
  const askedKeys = (): string[] => keys().filter((key) => !forbids(key))

  function open(): void {
    if (opening || reach.closed) return
    cancel?.()
    cancel = keys().some(forbids) ? clock.schedule(open, refusedMs, 'background') : undefined
    if (askedKeys().every((key) => current?.heard.has(key))) return
    const heard = new Map<string, number | undefined>()
    const stop = attempt(reach, shared ? joinMs : 0, openMs, listen, ended)
    const connection: Connection = { heard, stop }
    opening = connection

    /** Answers true if nothing has failed: the bridge has forbidden some of the keys. */
    async function listen(signal: AbortSignal, alive: Alive): Promise<boolean> {
      const asked = askedKeys()
      for (const key of asked) heard.set(key, undefined)
      const answer = asked.length > 0 ? await reach.get(pathFor(asked), asked, signal) : undefined
      if (signal.aborted || !answer?.body) return asked.length === 0 || asked.some(forbids)
      current?.stop()
      current = connection
      opening = undefined
      reliedOn = true
      open()
      alive(silenceMs)
      await readText(answer, (text) => {
        signal.throwIfAborted()
        alive(silenceMs)
        return receive(text)
      })
      return false
    }

    const receive = eventParser(({ event, data, retry }) => {
      if (Number(retry) > 0) reach.retryMs = Number(retry)
      const { key, held } = JSON.parse(`${data}`)
      const isHeld: unknown = { state: held, release: false }[`${event}`]
      if (typeof isHeld !== 'boolean' || !heard.has(key)) return
      heard.set(key, isHeld ? -Infinity : clock.monotonicMs())
      for (const [listener, itsKey] of listeners) if (itsKey === key) tell(listener, !isHeld)
    })

    function ended(forbade?: boolean): void {
      if (current === connection) current = undefined
      else opening = undefined
      if (forbade) {
        for (const [listener, key] of listeners) if (heard.has(key) && forbids(key)) tell(listener, true)
      } else {
        const checks = reach.failed() && !current && reliedOn
        reliedOn &&= !checks
        for (const listener of listeners.keys()) tell(listener, checks)
      }
      open()
    }
  }

  function tell(listener: Listener, changed: boolean): void {
    if (changed) listener.signal()
    listener.letGo()
  }

  return {
    takes(key) {
      const all = keys(key)
      return all.length <= mostKeys && pathFor(all).length <= longestPath
    },
    subscribe(key) {
      const heard = (): number | undefined => current?.heard.get(key)
      const listener = listenerOf({
        isLive: () => heard() !== undefined,
        // Since it told of a release it may not know who has the lock, if anybody.
        checks: () => heard() === -Infinity,
        closed() {
          listeners.delete(listener)
          if (listeners.size > 0) return
          cancel?.()
          current?.stop()
          opening?.stop()
          onEnd()
        },
      })
      listeners.set(listener, key)
      const agoMs = clock.monotonicMs() - (heard() as number)
      if (agoMs >= 0 || reach.closed || reach.pauseMs() > 0 || forbids(key)) tell(listener, agoMs < recentMs)
      open()
      return listener
    },
    close() {
      for (const listener of listeners.keys()) listener.close()
    },
  }
}

const pathFor = (keys: readonly string[]): string =>
  `/v1/events?${keys.map((key) => `key=${encodeURIComponent(key)}`).join('&')}`
