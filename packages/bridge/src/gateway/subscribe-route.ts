import type { Context } from 'hono'
import { baseRoutePath } from 'hono/route'
import { SseBody } from '../http/sse-body.ts'
import { textOf } from '../http/text.ts'
import type { UnreadTotal } from '../http/unread-total.ts'
import { answerError } from './answers.ts'
import type { CommandList } from './command-list.ts'
import { withinDeadline } from './deadline.ts'
import type { CheckedOptions } from './gateway-options.ts'
import { type GatewayRedis, type RedisErrorReply, UnansweredError } from './gateway-redis.ts'
import { requestTarget, topicOfPath } from './request-commands.ts'
import type { StreamPlaces } from './stream-places.ts'

/** What a reader may leave unread before it is cut off, in bytes. */
const maxUnreadBytes = 1_048_576

/** Which of the tokens was sent, by its place among them. */
export interface TokenContext {
  Variables: { gatewayToken: number }
}

interface Streaming {
  readonly options: CheckedOptions
  readonly subscribe: GatewayRedis['subscribe']
  /** Those that are open. */
  readonly streams: Set<SseBody>
  readonly places: StreamPlaces
  readonly list: CommandList
  /** What their readers leave unread. */
  readonly unreadTotal: UnreadTotal
}

/** How the wait for the first confirmation came out. */
type Opening = 'confirmed' | 'ended' | RedisErrorReply

/**
 * `/subscribe/<channel>` and `/psubscribe/<pattern>`: one topic a stream, as the client asks for them.
 *
 * The answer begins when Redis has confirmed the subscription, with a `subscribe` event, so that whoever has the headers
 * misses nothing from then on. After a lost connection the event comes again: what was published in between is lost, and
 * a reader that must not miss anything should look for itself then.
 */
export function subscribeRoute(
  streaming: Streaming,
  pattern: boolean,
): (c: Context<TokenContext>) => Promise<Response> {
  const { options, subscribe, streams, places, list, unreadTotal } = streaming
  const [command, confirmation, event] = pattern
    ? (['PSUBSCRIBE', 'psubscribe', 'pmessage'] as const)
    : (['SUBSCRIBE', 'subscribe', 'message'] as const)

  return async (c) => {
    const name = topicOfPath(requestTarget(c.req.url, baseRoutePath(c)))
    if (name === '') return answerError(c, 400, `ERR the path has no name, such as /${confirmation}/news`)
    const refused = list.streamRefusal(command)
    if (refused) return answerError(c, 400, `NOPERM ${refused}`)
    const leave = places.take(c.get('gatewayToken'))
    if (leave === 'token') {
      return answerError(c, 429, `TOOMANY event streams: ${options.maxStreamsPerToken} are open with this token`)
    }
    if (leave === 'gateway') {
      return answerError(
        c,
        503,
        `UNAVAILABLE the gateway has ${options.maxStreams} event streams open, and opens no more`,
      )
    }

    let onEnd = (): void => undefined
    const stream = new SseBody({
      heartbeatMs: options.heartbeatMs,
      maxUnreadBytes,
      unreadTotal,
      onEnd: () => onEnd(),
    })
    const opening = new Promise<Opening>((resolve) => {
      const unsubscribe = subscribe(
        { pattern, name },
        {
          confirmed() {
            stream.send(`${confirmation},${name},1`)
            resolve('confirmed')
          },
          lost: () => undefined,
          refused(error) {
            resolve({ error })
            stream.end()
          },
          message(channel, payload) {
            const from = pattern ? `${name},${textOf(channel)}` : name
            stream.send(`${event},${from},${textOf(payload)}`)
          },
        },
      )
      onEnd = () => {
        streams.delete(stream)
        leave()
        unsubscribe()
        resolve('ended')
      }
    })
    streams.add(stream)
    const opened = await withinDeadline(options.deadlineMs, c.req.raw.signal, () => opening).catch(
      () => 'ended' as const,
    )
    if (opened === 'ended') {
      stream.end()
      // However long it took: nobody listens now, and nothing was changed.
      throw new UnansweredError('no')
    }
    if (opened !== 'confirmed') return answerError(c, 400, opened.error)
    c.req.raw.signal.addEventListener('abort', () => stream.end(), { once: true })
    return c.body(stream.body, 200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
  }
}
