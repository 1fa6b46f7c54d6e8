import type { Context } from 'hono'
import { baseRoutePath } from 'hono/route'
import { answerError, answerJson, answerPieces } from './answers.ts'
import type { CommandList } from './command-list.ts'
import { withinDeadline } from './deadline.ts'
import type { CheckedOptions } from './gateway-options.ts'
import type { GatewayCommand, GatewayReply } from './gateway-redis.ts'
import { errorJson, listPieces, type ReplyWriter, replyWriter } from './reply-json.ts'
import { boundedReplies, isError } from './reply-shape.ts'
import { readBody } from './request-body.ts'
import { commandOf, commandOfPath, commandsOf, requestTarget } from './request-commands.ts'
import type { SyncTokens } from './sync-token.ts'

type Handler = (c: Context) => Promise<Response>

export interface CommandRoutes {
  /** `POST /` with one command. */
  readonly single: Handler
  /** `GET` or `POST /<command>/<argument>/…`. */
  readonly path: Handler
  /** `POST /pipeline`. */
  readonly pipeline: Handler
  /** `POST /multi-exec`. */
  readonly multiExec: Handler
}

export function commandRoutes(
  options: CheckedOptions,
  { refusal }: CommandList,
  syncTokens: SyncTokens,
): CommandRoutes {
  const { redis, deadlineMs, maxBodyBytes, maxPipeline, maxReplyBytes } = options

  /** Reads the body, and passes it on unless it is too large. */
  const withBody =
    (handle: (c: Context, body: Uint8Array) => Promise<Response>): Handler =>
    async (c) => {
      const body = await readBody(c.req.raw, maxBodyBytes)
      return body ? handle(c, body) : answerError(c, 413, `ERR the body is larger than ${maxBodyBytes} bytes`)
    }

  function ask<T>(c: Context, question: (signal: AbortSignal) => Promise<T>): Promise<T> {
    // Advanced before the outcome is known: a script may write, and so may a request that gets no answer.
    c.header('upstash-sync-token', syncTokens.next())
    return withinDeadline(deadlineMs, c.req.raw.signal, question)
  }

  function answerList(c: Context, given: readonly GatewayReply[]): Response {
    const { replies, bytes } = boundedReplies(given, maxReplyBytes)
    return answerPieces(c, listPieces(replies, writer(c)), bytes)
  }

  async function answerOne(c: Context, command: GatewayCommand): Promise<Response> {
    const refused = refusal(command)
    if (refused) return answerError(c, 400, `NOPERM ${refused}`)
    const { replies, bytes } = boundedReplies(
      await ask(c, (signal) => redis.pipeline([command], signal)),
      maxReplyBytes,
    )
    const [reply = null] = replies
    return answerPieces(c, writer(c)(reply), bytes, isError(reply) ? 400 : 200)
  }

  return {
    single: withBody((c, body) => answerOne(c, commandOf(body))),

    path: withBody((c, body) => answerOne(c, commandOfPath(requestTarget(c.req.url, baseRoutePath(c)), body))),

    pipeline: withBody(async (c, body) => {
      const commands = commandsOf(body, maxPipeline)
      const refused = commands.map(refusal)
      const allowed = commands.filter((_, index) => refused[index] === undefined)
      const replies = allowed.length > 0 ? await ask(c, (signal) => redis.pipeline(allowed, signal)) : []
      const next = replies[Symbol.iterator]()
      const all = refused.map((why): GatewayReply => (why ? { error: `NOPERM ${why}` } : (next.next().value ?? null)))
      return answerList(c, all)
    }),

    multiExec: withBody(async (c, body) => {
      const commands = commandsOf(body, maxPipeline)
      const refused = commands.map(refusal).find((why) => why !== undefined)
      // All or nothing.
      if (refused) return answerError(c, 400, `EXECABORT Transaction discarded: NOPERM ${refused}`)
      const replies = await ask(c, (signal) => redis.multiExec(commands, signal))
      return 'error' in replies ? answerJson(c, errorJson(replies.error), 400) : answerList(c, replies)
    }),
  }
}

const writer = (c: Context): ReplyWriter => replyWriter(c.req.header('upstash-encoding')?.toLowerCase() === 'base64')
