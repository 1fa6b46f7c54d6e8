import { type Alive, attempt } from './attempt.ts'
import { readText } from './body-text.ts'
import { pathFor } from './bridge-reach.ts'
import type { OpenChannel } from './channel.ts'
import { type EventFields, eventParser } from './event-parser.ts'
import { joinMs, longestPath, mostKeys, openMs, recentMs, refusedMs, silenceMs } from './figures.ts'
import { type Subscriber, subscriberOf } from './subscriber.ts'

interface Connection {
  /** The inboxes whose turns it reports, as the rest of its query. */
  readonly inboxes: string
  /**
   * For each of its keys: undefined until the bridge sends a state; then when the key was last reported free, in
   * monotonic milliseconds, or -Infinity if it was last reported held.
   */
  readonly heard: Map<string, number | undefined>
  readonly stop: () => void
}

/**
 * One event stream for many keys.
 *
 * The keys of a connection are fixed. For a new key a second connection is *opening* for all keys, and the first stays *current*
 * until the second has opened, so nothing is missed. Each connection begins with the states of its keys. They show what was
 * released while there was no connection.
 *
 * A key that the bridge forbids is left out for a while. Its waiters check on their own.
 */
export const eventStream: OpenChannel = (reach, shared, onEnd) => {
  const { clock, forbids } = reach
  /** The subscribers, each with its key. */
  const subscribers = new Map<Subscriber, string>()
  let current: Connection | undefined
  let opening: Connection | undefined
  /** Whether somebody may rely on the stream. */
  let reliedOn = false
  /** Cancels the timer after which a forbidden key is asked for again. */
  let cancel: (() => void) | undefined

  const keys = (...more: string[]): string[] => [...new Set([...subscribers.values(), ...more])]
  const inboxes = (): string => [...reach.inboxes.keys()].map((name) => `&inbox=${name}`).join('')
  const askedKeys = (): string[] => keys().filter((key) => !forbids(key))

  /** Opens a connection if the current one lacks a key or an inbox. */
  function open(): void {
    if (opening || reach.closed) return
    cancel?.()
    cancel = keys().some(forbids) ? clock.schedule(open, refusedMs, 'background') : undefined
    const told = current?.inboxes === inboxes()
    if (askedKeys().every((key) => told && current?.heard.has(key))) return
    const stop = attempt(reach, shared ? joinMs : 0, openMs, listen, (forbade) => ended(connection, forbade))
    const connection: Connection = { inboxes: inboxes(), heard: new Map(), stop }
    opening = connection
  }

  /** Resolves with true if this was not a failure: the bridge only forbade some of the keys. */
  async function listen(signal: AbortSignal, alive: Alive): Promise<boolean> {
    // Only the opening connection makes this call.
    const connection = opening as Connection
    const asked = askedKeys()
    for (const key of asked) connection.heard.set(key, undefined)
    const answer = asked.length > 0 ? await reach.get('events', asked, signal, connection.inboxes) : undefined
    if (signal.aborted || !answer?.body) return asked.length === 0 || asked.some(forbids)
    current?.stop()
    current = connection
    opening = undefined
    reliedOn = true
    open()
    alive(silenceMs)
    const receive = eventParser((event) => take(connection, event))
    await readText(answer, (text) => {
      signal.throwIfAborted()
      alive(silenceMs)
      return receive(text)
    })
    return false
  }

  function take({ heard }: Connection, { event, data, retry }: EventFields): void {
    if (Number(retry) > 0) reach.retryMs = Number(retry)
    const { key, held, inbox, number } = JSON.parse(data as string)
    // Only a `turn` event has an inbox.
    reach.inboxes.get(inbox)?.(`turn ${number}`)
    const isHeld: unknown = { state: held, release: false }[event as 'state']
    if (typeof isHeld !== 'boolean' || !heard.has(key)) return
    heard.set(key, isHeld ? -Infinity : clock.monotonicMs())
    for (const [subscriber, itsKey] of subscribers) if (itsKey === key) tell(subscriber, !isHeld)
  }

  function ended(connection: Connection, forbade?: boolean): void {
    if (current === connection) current = undefined
    else opening = undefined
    const check = forbade || (reach.failed() && !current && reliedOn)
    reliedOn &&= forbade || !check
    for (const [subscriber, key] of subscribers)
      if (!forbade || (connection.heard.has(key) && forbids(key))) tell(subscriber, check)
    open()
  }

  return {
    takes(key) {
      const all = keys(key)
      return all.length <= mostKeys && pathFor('events', all).length + inboxes().length <= longestPath
    },
    subscribe(key) {
      const heard = (): number | undefined => current?.heard.get(key)
      const subscriber = subscriberOf({
        isLive: () => heard() !== undefined,
        // After a release the bridge may not know who has the lock, if anybody.
        checks: () => heard() === -Infinity,
        closed() {
          subscribers.delete(subscriber)
          if (subscribers.size > 0) return
          cancel?.()
          current?.stop()
          opening?.stop()
          onEnd()
        },
      })
      subscribers.set(subscriber, key)
      const agoMs = clock.monotonicMs() - (heard() as number)
      if (agoMs >= 0 || reach.closed || reach.pauseMs() > 0 || forbids(key)) tell(subscriber, agoMs < recentMs)
      open()
      return subscriber
    },
    close() {
      for (const subscriber of subscribers.keys()) subscriber.close()
    },
  }
}

/** Signals a change, if any, and settles: all that can be known about the key for now is known. */
function tell(subscriber: Subscriber, changed: boolean): void {
  if (changed) subscriber.signal()
  subscriber.settle()
}
