import { type Alive, attempt } from './attempt.ts'
import type { OpenChannel } from './channel.ts'
import { eventParser } from './event-parser.ts'
import { joinMs, longestPath, mostKeys, openMs, recentMs, silenceMs } from './figures.ts'
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
 */
export const eventStream: OpenChannel = (reach, shared, onEnd) => {
  const { clock } = reach
  const listeners = new Map<Listener, string>()
  let current: Connection | undefined
  let opening: Connection | undefined
  /** Somebody may rely on what is heard. */
  let reliedOn = false

  const keys = (...more: string[]): string[] => [...new Set([...listeners.values(), ...more])]

  function open(): void {
    if (opening || reach.closed || keys().every((key) => current?.heard.has(key))) return
    const heard = new Map<string, number | undefined>()
    const stop = attempt(reach, shared ? joinMs : 0, openMs, listen, ended)
    const connection: Connection = { heard, stop }
    opening = connection

    async function listen(signal: AbortSignal, alive: Alive): Promise<void> {
      for (const key of keys()) heard.set(key, undefined)
      const { body } = await reach.get(pathFor(keys()), signal)
      const reader = body?.getReader()
      if (signal.aborted || !reader) return
      current?.stop()
      current = connection
      opening = undefined
      reliedOn = true
      open()
      const decoder = new TextDecoder()
      for (;;) {
        alive(silenceMs)
        const { done, value } = await reader.read()
        if (done || signal.aborted) return
        receive(decoder.decode(value as Uint8Array<ArrayBuffer>, { stream: true }))
      }
    }

    const receive = eventParser(({ event, data, retry }) => {
      reach.retryMs = Number(retry) || reach.retryMs
      if (event !== 'state' && event !== 'release') return
      const { key, held } = JSON.parse(`${data}`) as { readonly key: string; readonly held?: boolean }
      heard.set(key, held ? -Infinity : clock.monotonicMs())
      for (const [listener, itsKey] of listeners) if (itsKey === key) tell(listener, !held)
    })

    function ended(): void {
      if (current === connection) current = undefined
      else opening = undefined
      const looks = reach.failed() && !current && reliedOn
      reliedOn &&= !looks
      for (const listener of listeners.keys()) tell(listener, looks)
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
        closed() {
          listeners.delete(listener)
          if (listeners.size > 0) return
          current?.stop()
          opening?.stop()
          onEnd()
        },
      })
      listeners.set(listener, key)
      const agoMs = clock.monotonicMs() - (heard() ?? Number.NaN)
      if (agoMs >= 0 || reach.closed || reach.pauseMs() > 0) tell(listener, agoMs < recentMs)
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
