import type { Context } from 'hono'
import { baseRoutePath } from 'hono/route'
import type { UnreadTotal } from '../http/unread-total.ts'
import { answerError } from './answers.ts'
import type { CommandList } from './command-list.ts'
import { withinDeadline } from './deadline.ts'
import type { CheckedOptions } from './gateway-options.ts'
import { type GatewayRedis, UnansweredError } from './gateway-redis.ts'
import { requestTarget, topicOfPath } from './request-commands.ts'
import type { StreamPlaces } from './stream-places.ts'
import { TopicStream } from './topic-stream.ts'

/** The index of the token that was sent. */
export interface TokenContext {
  Variables: { gatewayToken: number }
}

export interface Streaming {
  readonly options: CheckedOptions
  readonly subscribe: GatewayRedis['subscribe']
  /** The open streams. */
  readonly streams: Set<TopicStream>
  readonly places: StreamPlaces
  readonly list: CommandList
  /** Counts what the streams' readers leave unread. */
  readonly unreadTotal: UnreadTotal
}

/**
 * `/subscribe/<channel>` and `/psubscribe/<pattern>`: one topic per stream, as the client asks for them.
 *
 * The response begins with a `subscribe` event, once Redis has confirmed the subscription. So a reader that has the
 * headers misses nothing from then on. After a lost connection the event comes again. Messages published in between are
 * lost, and a reader that must not miss anything should then check for itself.
 */
export function subscribeRoute(
  streaming: Streaming,
  pattern: boolean,
): (c: Context<TokenContext>) => Promise<Response> {
  const { options, list } = streaming
  const command = pattern ? 'PSUBSCRIBE' : 'SUBSCRIBE'

  return async (c) => {
    const name = topicOfPath(requestTarget(c.req.url, baseRoutePath(c)))
    if (name === '') return answerError(c, 400, `ERR the path has no name, such as /${command.toLowerCase()}/news`)
    const refused = list.streamRefusal(command)
    if (refused) return answerError(c, 400, `NOPERM ${refused}`)
    const leave = streaming.places.take(c.get('gatewayToken'))
    if (typeof leave === 'string') return answerFull(c, leave, options)

    const stream = openStream(streaming, { pattern, name }, leave)
    const gone = c.req.raw.signal
    const opened = await withinDeadline(options.deadlineMs, gone, () => stream.opening).catch(() => 'ended' as const)
    if (opened === 'ended') {
      stream.end()
      // Safe to answer however long it took: nobody is subscribed now, and nothing was changed.
      throw new UnansweredError('no')
    }
    if (opened !== 'confirmed') return answerError(c, 400, opened.error)
    gone.addEventListener('abort', () => stream.end(), { once: true })
    return c.body(stream.body, 200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
  }
}

/** @param leave gives the stream's place back */
function openStream(
  { options, subscribe, streams, unreadTotal }: Streaming,
  topic: { readonly pattern: boolean; readonly name: string },
  leave: () => void,
): TopicStream {
  const onEnd = (ended: TopicStream): void => {
    streams.delete(ended)
    leave()
  }
  const stream = new TopicStream({ topic, subscribe, heartbeatMs: options.heartbeatMs, unreadTotal, onEnd })
  streams.add(stream)
  return stream
}

/** @param whose the one whose limit is reached */
function answerFull(c: Context, whose: 'token' | 'gateway', options: CheckedOptions): Response {
  if (whose === 'token') {
    return answerError(c, 429, `TOOMANY event streams: ${options.maxStreamsPerToken} are open with this token`)
  }
  return answerError(c, 503, `UNAVAILABLE the gateway has ${options.maxStreams} event streams open, and opens no more`)
}
