import type { GatewayRedis, Topic, TopicSubscriber, Unsubscribe } from './gateway-redis.ts'

interface Shared {
  readonly subscribers: Set<TopicSubscriber>
  confirmed: boolean
  unsubscribe: Unsubscribe
}

/**
 * Shares one subscription among all who want the same topic: the first one subscribes, and the last one to leave
 * unsubscribes. Those who come while the subscription is confirmed are notified of that at once.
 */
export function sharedSubscriptions(redis: Pick<GatewayRedis, 'subscribe'>): GatewayRedis['subscribe'] {
  const topics = new Map<string, Shared>()

  function open(key: string, topic: Topic): Shared {
    const shared: Shared = { subscribers: new Set(), confirmed: false, unsubscribe: () => undefined }
    topics.set(key, shared)
    const tell = (what: (subscriber: TopicSubscriber) => void): void => {
      // A copy: a notified subscriber may leave, or add another.
      for (const subscriber of [...shared.subscribers]) what(subscriber)
    }
    shared.unsubscribe = redis.subscribe(topic, {
      confirmed() {
        shared.confirmed = true
        tell((subscriber) => subscriber.confirmed())
      },
      lost() {
        shared.confirmed = false
        tell((subscriber) => subscriber.lost())
      },
      refused(error) {
        topics.delete(key)
        tell((subscriber) => subscriber.refused(error))
      },
      message: (channel, payload) => tell((subscriber) => subscriber.message(channel, payload)),
    })
    return shared
  }

  return (topic, subscriber) => {
    const key = `${topic.pattern ? 'pattern' : 'channel'} ${topic.name}`
    const shared = topics.get(key) ?? open(key, topic)
    shared.subscribers.add(subscriber)
    if (shared.confirmed) subscriber.confirmed()
    return () => {
      if (!shared.subscribers.delete(subscriber) || shared.subscribers.size > 0 || topics.get(key) !== shared) return
      topics.delete(key)
      shared.unsubscribe()
    }
  }
}
