import type { GatewayRedis, Topic, TopicListener, Unsubscribe } from './gateway-redis.ts'

interface Shared {
  readonly listeners: Set<TopicListener>
  confirmed: boolean
  unsubscribe: Unsubscribe
}

/**
 * Subscribes once for all who want the same topic: the first brings the subscription about, and the last to leave ends it.
 * Who comes while it is confirmed is told so at once.
 */
export function sharedSubscriptions(redis: Pick<GatewayRedis, 'subscribe'>): GatewayRedis['subscribe'] {
  const topics = new Map<string, Shared>()

  function open(key: string, topic: Topic): Shared {
    const shared: Shared = { listeners: new Set(), confirmed: false, unsubscribe: () => undefined }
    topics.set(key, shared)
    const tell = (what: (listener: TopicListener) => void): void => {
      // A copy: who is told may leave, or bring another.
      for (const listener of [...shared.listeners]) what(listener)
    }
    shared.unsubscribe = redis.subscribe(topic, {
      confirmed() {
        shared.confirmed = true
        tell((listener) => listener.confirmed())
      },
      lost() {
        shared.confirmed = false
        tell((listener) => listener.lost())
      },
      refused(error) {
        topics.delete(key)
        tell((listener) => listener.refused(error))
      },
      message: (channel, payload) => tell((listener) => listener.message(channel, payload)),
    })
    return shared
  }

  return (topic, listener) => {
    const key = `${topic.pattern ? 'pattern' : 'channel'} ${topic.name}`
    const shared = topics.get(key) ?? open(key, topic)
    shared.listeners.add(listener)
    if (shared.confirmed) listener.confirmed()
    return () => {
      if (!shared.listeners.delete(listener) || shared.listeners.size > 0 || topics.get(key) !== shared) return
      topics.delete(key)
      shared.unsubscribe()
    }
  }
}
