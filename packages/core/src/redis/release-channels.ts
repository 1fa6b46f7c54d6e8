import type { Clock } from '../timing/clock.ts'
import type { Subscription } from '../waiting/release-notifier.ts'
import { ChannelSubscriber, type MessageListener } from './channel-subscriber.ts'
import { MissedReleases } from './missed-releases.ts'
import type { NotifierTroubles } from './notifier-troubles.ts'
import type { RedisSubscriber } from './redis-subscriber.ts'
import { SubscriberLink } from './subscriber-link.ts'

/**
 * How long a channel without subscribers stays subscribed, in milliseconds: on busy keys the next waiter comes soon.
 */
const lingerMs = 1_000

/** Something the server is asked to confirm: a channel, or the pattern for all of them. */
interface Topic {
  readonly name: string
  readonly isPattern: boolean
  /** The server has confirmed it on the current connection. */
  confirmed: boolean
  /** The server is being asked to confirm it. */
  asking: boolean
}

interface Channel {
  readonly name: string
  readonly topic: Topic
  /** Its messages are not about releases. */
  readonly isInbox: boolean
  readonly subscribers: Set<ChannelSubscriber>
  /** Cancels the timer that ends a channel without subscribers. */
  stopLinger: (() => void) | undefined
}

export interface ChannelsOptions {
  readonly subscriber: RedisSubscriber
  readonly clock: Clock
  /** The pattern to subscribe to once, instead of to each channel; undefined for none. */
  readonly pattern: string | undefined
  readonly troubles: NotifierTroubles
  /** Runs background work in an async context that belongs to no subscriber. */
  readonly home: (task: () => void) => void
}

/** The channels that one connection listens to, with their subscribers counted. */
export class ReleaseChannels {
  readonly #clock: Clock
  readonly #troubles: NotifierTroubles
  readonly #home: (task: () => void) => void
  readonly #link: SubscriberLink
  readonly #missed: MissedReleases
  readonly #pattern: Topic | undefined
  readonly #channels = new Map<string, Channel>()
  #subscribers = 0
  #closed = false

  constructor({ subscriber, clock, pattern, troubles, home }: ChannelsOptions) {
    this.#clock = clock
    this.#troubles = troubles
    this.#home = home
    this.#pattern = pattern === undefined ? undefined : topicOf(pattern, true)
    this.#missed = new MissedReleases(clock, troubles)
    this.#link = new SubscriberLink(subscriber, clock, {
      connected: () => void this.#confirm(this.#topics()),
      message: (name, payload) => this.#heard(name, payload),
      lost: () => this.#lost(),
      probe: () => void this.#probe(),
      troubled: (cause) => this.#troubles.begin('connection', cause),
    })
  }

  /** @param listener given only for an inbox, whose channel no pattern covers */
  listen(name: string, listener?: MessageListener, onClose?: () => void): Subscription {
    const channel = this.#channel(name, listener !== undefined)
    const subscriber = new ChannelSubscriber(this.#clock, listener)
    channel.subscribers.add(subscriber)
    this.#subscribers++
    if (channel.topic.confirmed) subscriber.hear()
    // There is no pending confirmation to wait for.
    else if (this.#closed || this.#link.isPausing) subscriber.miss()
    this.#home(() => this.#attend(channel))

    const isLive = (): boolean => channel.topic.confirmed && channel.subscribers.has(subscriber)
    return {
      ready: subscriber.ready,
      get live() {
        return isLive()
      },
      get signals() {
        return subscriber.count.signals
      },
      onSignal: (seen, callback) => subscriber.count.onSignal(seen, callback),
      suspect: (cursor) => {
        // A release that was missed while disconnected needs no other explanation.
        if (isLive() && !subscriber.isMissing) this.#home(() => this.#suspect(channel, cursor))
      },
      close: () => {
        if (!channel.subscribers.delete(subscriber)) return
        subscriber.close()
        this.#subscribers--
        this.#home(() => this.#leave(channel))
        onClose?.()
      },
    }
  }

  close(): void {
    this.#closed = true
    this.#link.close()
    this.#lost()
    for (const channel of this.#channels.values()) channel.stopLinger?.()
    this.#channels.clear()
  }

  #channel(name: string, isInbox: boolean): Channel {
    const known = this.#channels.get(name)
    known?.stopLinger?.()
    const channel = known ?? {
      name,
      topic: (isInbox ? undefined : this.#pattern) ?? topicOf(name, false),
      isInbox,
      subscribers: new Set(),
      stopLinger: undefined,
    }
    channel.stopLinger = undefined
    if (!this.#closed) this.#channels.set(name, channel)
    return channel
  }

  /** Called when somebody has subscribed to this channel. */
  #attend({ subscribers, topic }: Channel): void {
    if (subscribers.size === 0) return
    this.#link.want(true)
    // A refused topic is asked for again, because permissions change.
    if (!topic.confirmed && !topic.asking) void this.#confirm([topic])
  }

  /** Called when a subscriber of this channel has closed. */
  #leave(channel: Channel): void {
    this.#link.want(this.#subscribers > 0)
    if (channel.subscribers.size > 0 || this.#closed) return
    const end = (): void => {
      this.#channels.delete(channel.name)
      if (channel.topic.isPattern) return
      if (channel.topic.confirmed) this.#unsubscribe(channel.topic)
      // Nobody asks for the topic anymore, so its refusal would never end, and hide the refusal of another topic.
      this.#troubles.forget('refusal', channel.topic.name)
    }
    channel.stopLinger ??= this.#clock.schedule(end, lingerMs, 'background')
  }

  #unsubscribe({ name }: Topic): void {
    this.#link.tell((connection) => connection.unsubscribe([name]))
  }

  /** The topics that somebody listens to. */
  #topics(): readonly Topic[] {
    const heard = [...this.#channels.values()].filter(({ subscribers }) => subscribers.size > 0)
    const topics = heard.map(({ topic }) => topic)
    return this.#pattern ? [...new Set([this.#pattern, ...topics])] : topics
  }

  #unconfirmed(): readonly Topic[] {
    return this.#topics().filter(({ confirmed }) => !confirmed)
  }

  /**
   * Asks the server to confirm a topic, because any answer shows that the connection is alive. Prefers a refused topic,
   * because permissions may have changed.
   */
  async #probe(): Promise<void> {
    const refused = this.#unconfirmed()
    const probed = refused[0] ?? this.#topics()[0]
    if (probed && (await this.#confirm([probed])) && probed === refused[0]) void this.#confirm(this.#unconfirmed())
  }

  /** Asks the server to confirm these topics, even if it has before. Returns whether it did. */
  async #confirm(topics: readonly Topic[]): Promise<boolean> {
    const [first] = topics
    if (!first) return false
    if (first.isPattern && topics.length > 1) {
      const answers = await Promise.all([this.#confirm([first]), this.#confirm(topics.slice(1))])
      return answers.every(Boolean)
    }
    for (const topic of topics) topic.asking = true
    const names = topics.map(({ name }) => name)
    const answer = await this.#link.ask((connection) =>
      first.isPattern ? connection.psubscribe(first.name) : connection.subscribe(names),
    )
    for (const topic of topics) topic.asking = false
    if (answer.type === 'lost') return false
    const isConfirmed = answer.type === 'confirmed'
    if (!isConfirmed && topics.length > 1) {
      // One forbidden topic makes the server refuse them all, so ask for each by itself.
      for (const topic of topics) void this.#confirm([topic])
      return false
    }
    if (isConfirmed) for (const topic of topics) this.#confirmed(topic)
    else for (const topic of topics) this.#refuse(topic, answer.cause)
    // Only after noting a refusal: a new connection that refuses a subscription does not mean that releases are heard.
    this.#troubles.end('connection')
    return isConfirmed
  }

  #confirmed(topic: Topic): void {
    topic.confirmed = true
    this.#troubles.end('refusal', topic.name)
    // Nobody listens anymore: the channel's linger time ended before the server had confirmed.
    if (!topic.isPattern && !this.#channels.has(topic.name)) this.#unsubscribe(topic)
    for (const subscriber of this.#on(topic)) subscriber.hear()
  }

  #refuse(topic: Topic, cause: unknown): void {
    topic.confirmed = false
    // The channel was left while the server was being asked.
    if (!this.#isKept(topic)) return
    for (const subscriber of this.#on(topic)) subscriber.miss()
    const reason = cause instanceof Error ? cause.message : String(cause)
    const problem = `Releases are not heard, so waiters check by themselves: the subscription to "${topic.name}" was refused`
    this.#troubles.begin('refusal', new Error(`${problem}: ${reason}`, { cause }), topic.name)
  }

  /** Whether the topic's channel has not been left. */
  #isKept(topic: Topic): boolean {
    return topic === this.#pattern || this.#channels.get(topic.name)?.topic === topic
  }

  #on(topic: Topic): readonly ChannelSubscriber[] {
    const channels = topic.isPattern ? this.#channels.values() : [this.#channels.get(topic.name)]
    // A later channel of the same name has a topic of its own.
    return [...channels].flatMap((channel) => (channel?.topic === topic ? [...channel.subscribers] : []))
  }

  #heard(name: string, payload: string): void {
    const channel = this.#channels.get(name)
    const subscribers = [...(channel?.subscribers ?? [])]
    if (!channel?.isInbox) this.#missed.heard(payload, subscribers.length > 0)
    for (const subscriber of subscribers) subscriber.heard(payload)
  }

  #suspect({ topic }: Channel, cursor: string): void {
    void this.#missed.suspect(topic.name, cursor, () => this.#confirm([topic]))
  }

  #lost(): void {
    if (this.#pattern) this.#pattern.confirmed = false
    for (const { topic, subscribers } of this.#channels.values()) {
      topic.confirmed = false
      for (const subscriber of subscribers) subscriber.miss()
    }
  }
}

const topicOf = (name: string, isPattern: boolean): Topic => ({ name, isPattern, confirmed: false, asking: false })
