import type { GatewayRedis, Topic, TopicListener } from '../gateway/index.ts'
import type { IoredisConnection } from './ioredis-connection.ts'

/** Subscriptions over a connection of their own, which is told of every wanted topic whenever it is ready. */
export function ioredisTopics(connection: IoredisConnection): GatewayRedis['subscribe'] {
  const { redis } = connection
  const wanted = { channel: new Map<string, TopicListener>(), pattern: new Map<string, TopicListener>() }
  const kindOf = ({ pattern }: Topic): Map<string, TopicListener> => (pattern ? wanted.pattern : wanted.channel)
  const isEmpty = (): boolean => wanted.channel.size === 0 && wanted.pattern.size === 0
  let heartbeat: NodeJS.Timeout | undefined

  async function subscribe(topic: Topic, listener: TopicListener): Promise<void> {
    const stillWanted = (): boolean => kindOf(topic).get(topic.name) === listener
    try {
      await (topic.pattern ? redis.psubscribe(topic.name) : redis.subscribe(topic.name))
      if (stillWanted()) listener.confirmed()
    } catch (error) {
      // Otherwise the connection is lost, and the next one will be told.
      if ((error as Error).name !== 'ReplyError' || !stillWanted()) return
      kindOf(topic).delete(topic.name)
      listener.refused((error as Error).message)
    }
  }

  redis.on('ready', () => {
    for (const [name, listener] of wanted.channel) void subscribe({ pattern: false, name }, listener)
    for (const [name, listener] of wanted.pattern) void subscribe({ pattern: true, name }, listener)
    heartbeat ??= setInterval(() => {
      // A connection that only listens would not notice that it is dead; an unanswered command makes its deadline run.
      if (!isEmpty() && connection.isReady) redis.ping().catch(() => undefined)
    }, connection.unansweredMs)
  })
  redis.on('close', () => {
    clearInterval(heartbeat)
    heartbeat = undefined
    for (const listener of [...wanted.channel.values(), ...wanted.pattern.values()]) listener.lost()
  })
  redis.on('messageBuffer', (channel: Buffer, payload: Buffer | null) => {
    wanted.channel.get(channel.toString())?.message(channel, payload ?? '')
  })
  redis.on('pmessageBuffer', (pattern: string, channel: Buffer, payload: Buffer) => {
    wanted.pattern.get(pattern)?.message(channel, payload)
  })

  return (topic, listener) => {
    kindOf(topic).set(topic.name, listener)
    if (connection.isReady) void subscribe(topic, listener)
    else if (redis.status === 'wait') redis.connect().catch(() => undefined)
    return () => {
      if (!kindOf(topic).delete(topic.name) || !connection.isReady) return
      // Should it get lost, it is lost with the connection.
      const done = topic.pattern ? redis.punsubscribe(topic.name) : redis.unsubscribe(topic.name)
      done.catch(() => undefined)
    }
  }
}
