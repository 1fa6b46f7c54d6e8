import type { GatewayRedis, Topic, TopicSubscriber } from '../gateway/index.ts'
import type { IoredisConnection } from './ioredis-connection.ts'

/** Subscriptions over a connection of their own. Whenever it becomes ready, it subscribes to every wanted topic. */
export function ioredisTopics(connection: IoredisConnection): GatewayRedis['subscribe'] {
  const { redis } = connection
  const wanted = { channel: new Map<string, TopicSubscriber>(), pattern: new Map<string, TopicSubscriber>() }
  const kindOf = ({ pattern }: Topic): Map<string, TopicSubscriber> => (pattern ? wanted.pattern : wanted.channel)
  const isEmpty = (): boolean => wanted.channel.size === 0 && wanted.pattern.size === 0
  let heartbeat: NodeJS.Timeout | undefined

  async function subscribe(topic: Topic, subscriber: TopicSubscriber): Promise<void> {
    const stillWanted = (): boolean => kindOf(topic).get(topic.name) === subscriber
    try {
      await (topic.pattern ? redis.psubscribe(topic.name) : redis.subscribe(topic.name))
      if (stillWanted()) subscriber.confirmed()
    } catch (error) {
      // Any other error means that the connection was lost; the next connection subscribes again.
      if ((error as Error).name !== 'ReplyError' || !stillWanted()) return
      kindOf(topic).delete(topic.name)
      subscriber.refused((error as Error).message)
    }
  }

  redis.on('ready', () => {
    for (const [name, subscriber] of wanted.channel) void subscribe({ pattern: false, name }, subscriber)
    for (const [name, subscriber] of wanted.pattern) void subscribe({ pattern: true, name }, subscriber)
    heartbeat ??= setInterval(() => {
      // A connection that only listens does not notice that it is dead. An unanswered command starts its timeout.
      if (!isEmpty() && connection.isReady) redis.ping().catch(() => undefined)
    }, connection.unansweredMs)
  })
  redis.on('close', () => {
    clearInterval(heartbeat)
    heartbeat = undefined
    for (const subscriber of [...wanted.channel.values(), ...wanted.pattern.values()]) subscriber.lost()
  })
  redis.on('messageBuffer', (channel: Buffer, payload: Buffer | null) => {
    wanted.channel.get(channel.toString())?.message(channel, payload ?? '')
  })
  redis.on('pmessageBuffer', (pattern: string, channel: Buffer, payload: Buffer) => {
    wanted.pattern.get(pattern)?.message(channel, payload)
  })

  return (topic, subscriber) => {
    kindOf(topic).set(topic.name, subscriber)
    if (connection.isReady) void subscribe(topic, subscriber)
    else if (redis.status === 'wait') redis.connect().catch(() => undefined)
    return () => {
      if (!kindOf(topic).delete(topic.name) || !connection.isReady) return
      // The command can get lost only together with the connection.
      const done = topic.pattern ? redis.punsubscribe(topic.name) : redis.unsubscribe(topic.name)
      done.catch(() => undefined)
    }
  }
}
