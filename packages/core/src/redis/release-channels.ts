import type { Subscription } from '../release-notifier.ts'
import { SignalCount } from '../signal-count.ts'
import { jitter } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'
import { noAnswer, withDeadline } from '../timing/deadline.ts'
import type { RedisSubscriber, SubscriberConnection } from './redis-subscriber.ts'

/** A channel nobody listens to any more is left subscribed for so long: on a busy key the next waiter is about to come. */
const lingerMs = 1_000
/** After a connection is back every waiter looks again, spread over so long. */
const lookAgainSpreadMs = 250
/** Between attempts to connect, doubling, with jitter. */
const reconnectMs = { from: 100, to: 2_000 }
/** How long an attempt to connect may take. */
const connectDeadlineMs = 5_000

interface Listener {
  readonly count: SignalCount
  readonly ready: () => void
}

interface Channel {
  readonly listeners: Set<Listener>
  /** The server has confirmed the subscription on the present connection. */
  confirmed: boolean
  /** Withdraws the timer that ends a channel without listeners. */
  stopLinger: (() => void) | undefined
}

/**
 * The channels that one connection listens to.
 *
 * States: *idle* (nobody has asked yet) → *connecting* → *connected* → *connecting* again when the connection is lost, for
 * as long as anybody listens → *closed*. Subscriptions are reference-counted per channel.
 */
export class ReleaseChannels {
  readonly #subscriber: RedisSubscriber
  readonly #clock: Clock
  readonly #pattern: string | undefined
  readonly #channels = new Map<string, Channel>()
  readonly #closed = new AbortController()
  #connection: SubscriberConnection | undefined
  #connecting = false
  #wasConnected = false
  #patternConfirmed = false
  #failures = 0
  #stopReconnect: (() => void) | undefined

  /** @param pattern subscribe to this pattern, once, instead of to each channel */
  constructor(subscriber: RedisSubscriber, clock: Clock, pattern: string | undefined) {
    this.#subscriber = subscriber
    this.#clock = clock
    this.#pattern = pattern
  }

  listen(name: string, onClose?: () => void): Subscription {
    const known = this.#channels.get(name)
    const channel: Channel = known ?? { listeners: new Set(), confirmed: this.#patternConfirmed, stopLinger: undefined }
    if (!this.#closed.signal.aborted) this.#channels.set(name, channel)
    channel.stopLinger?.()
    channel.stopLinger = undefined

    const count = new SignalCount()
    const { promise: ready, resolve } = settledLater()
    const listener: Listener = { count, ready: resolve }
    channel.listeners.add(listener)
    if (channel.confirmed || this.#closed.signal.aborted) resolve()
    else if (!this.#connection) this.#connect()
    // Also for a channel that is known: it may have been refused, and permissions change.
    else void this.#confirm(this.#connection, [name])

    return {
      ready,
      get live() {
        return channel.confirmed && channel.listeners.has(listener)
      },
      get signals() {
        return count.signals
      },
      onSignal: (seen, callback) => count.onSignal(seen, callback),
      suspect: () => undefined,
      close: () => {
        if (!channel.listeners.delete(listener)) return
        count.forget()
        if (channel.listeners.size === 0) this.#linger(name, channel)
        onClose?.()
      },
    }
  }

  close(): void {
    this.#closed.abort()
    this.#stopReconnect?.()
    this.#connection?.close()
    this.#forgetConnection()
    this.#letGo()
    for (const channel of this.#channels.values()) channel.stopLinger?.()
    this.#channels.clear()
  }

  #linger(name: string, channel: Channel): void {
    if (this.#closed.signal.aborted) return
    const end = (): void => {
      this.#channels.delete(name)
      if (!this.#pattern && channel.confirmed) void this.#connection?.unsubscribe([name]).catch(ignore)
    }
    channel.stopLinger = this.#clock.schedule(end, lingerMs, 'background')
  }

  #connect(): void {
    if (this.#connecting || this.#stopReconnect) return
    this.#connecting = true
    const connect = (signal: AbortSignal): Promise<SubscriberConnection> => {
      const stop = new AbortController()
      const abort = (): void => stop.abort()
      signal.addEventListener('abort', abort)
      this.#closed.signal.addEventListener('abort', abort)
      const listener = { message: (channel: string) => this.#signal(channel), lost: () => this.#lost() }
      return this.#subscriber.connect(listener, stop.signal).finally(() => {
        signal.removeEventListener('abort', abort)
        this.#closed.signal.removeEventListener('abort', abort)
      })
    }
    const late = (connection: SubscriberConnection): void => connection.close()
    withDeadline(this.#clock, connectDeadlineMs, connect, late).then(
      (connection) => {
        this.#connecting = false
        if (connection === noAnswer) this.#retry()
        else this.#connected(connection)
      },
      () => {
        this.#connecting = false
        this.#retry()
      },
    )
  }

  #connected(connection: SubscriberConnection): void {
    if (this.#closed.signal.aborted) {
      connection.close()
      return
    }
    this.#connection = connection
    this.#failures = 0
    const lookAgain = this.#wasConnected
    this.#wasConnected = true
    void this.#confirm(connection, [...this.#channels.keys()]).then(() => lookAgain && this.#lookAgain())
  }

  /** Has the server confirm that these channels are heard, and tells those who wait for that. */
  async #confirm(connection: SubscriberConnection, names: readonly string[]): Promise<void> {
    const subscribe = async (): Promise<true> => {
      if (this.#pattern) await connection.psubscribe(this.#pattern)
      else if (names.length > 0) await connection.subscribe(names)
      return true
    }
    let confirmed: true | undefined
    try {
      confirmed = await withDeadline(this.#clock, connectDeadlineMs, subscribe)
    } catch {
      // Refused (no permission), or lost: those who wait look for themselves.
      return this.#letGo()
    }
    if (connection !== this.#connection) return
    if (!confirmed) {
      // It is open and says nothing: another may be better.
      connection.close()
      return this.#lost()
    }
    this.#patternConfirmed = this.#pattern !== undefined
    for (const name of this.#pattern ? this.#channels.keys() : names) {
      const channel = this.#channels.get(name)
      // Nobody listens any more; its lingering ended before the server had confirmed.
      if (!channel) void connection.unsubscribe([name]).catch(ignore)
      else channel.confirmed = true
      for (const listener of channel?.listeners ?? []) listener.ready()
    }
  }

  #signal(name: string): void {
    for (const { count } of this.#channels.get(name)?.listeners ?? []) count.add()
  }

  /** What was released while there was no connection was heard by nobody: every waiter looks, but not all at once. */
  #lookAgain(): void {
    for (const { listeners } of this.#channels.values()) {
      for (const { count } of listeners)
        this.#clock.schedule(() => count.add(), jitter() * lookAgainSpreadMs, 'background')
    }
  }

  #lost(): void {
    this.#forgetConnection()
    if (!this.#closed.signal.aborted) this.#retry()
  }

  #forgetConnection(): void {
    this.#connection = undefined
    this.#patternConfirmed = false
    for (const channel of this.#channels.values()) channel.confirmed = false
  }

  /** Connects again after a pause, if anybody listens; who asks later connects at once. */
  #retry(): void {
    this.#letGo()
    if (this.#channels.size === 0 || this.#closed.signal.aborted) return
    const pauseMs = Math.min(reconnectMs.to, reconnectMs.from * 2 ** this.#failures++) * (0.5 + jitter() / 2)
    const again = (): void => {
      this.#stopReconnect = undefined
      this.#connect()
    }
    this.#stopReconnect = this.#clock.schedule(again, pauseMs, 'background')
  }

  /** Lets everyone who waits for a confirmation go on without it. */
  #letGo(): void {
    for (const { listeners } of this.#channels.values()) for (const listener of listeners) listener.ready()
  }
}

function settledLater(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = ignore
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

const ignore = (): void => undefined
