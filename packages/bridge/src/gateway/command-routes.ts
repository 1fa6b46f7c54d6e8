import type { Context } from 'hono'
import { baseRoutePath } from 'hono/route'
import { answerError, answerJson } from './answers.ts'
import type { CommandList } from './command-list.ts'
import { withinDeadline } from './deadline.ts'
import type { CheckedOptions } from './gateway-options.ts'
import type { GatewayCommand, GatewayReply } from './gateway-redis.ts'
import { errorJson, isError, type ReplyWriter, replyWriter } from './reply-json.ts'
import { readBody } from './request-body.ts'
import { commandOf, commandOfPath, commandsOf, requestTarget } from './request-commands.ts'

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

export function commandRoutes(options: CheckedOptions, { refusal }: CommandList): CommandRoutes {
  const { redis, deadlineMs, maxBodyBytes, maxPipeline } = options

  /** Reads the body and hands it on, if it is not too large. */
  const withBody =
    (handle: (c: Context, body: Uint8Array) => Promise<Response>): Handler =>
    async (c) => {
      const body = await readBody(c.req.raw, maxBodyBytes)
      return body ? handle(c, body) : answerError(c, 413, `ERR the body is larger than ${maxBodyBytes} bytes`)
    }

  const ask = <T>(c: Context, question: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    withinDeadline(deadlineMs, c.req.raw.signal, question)

  async function answerOne(c: Context, command: GatewayCommand): Promise<Response> {
    const refused = refusal(command)
    if (refused) return answerError(c, 400, `NOPERM ${refused}`)
    const [reply = null] = await ask(c, (signal) => redis.pipeline([command], signal))
    return answerJson(c, writer(c)(reply), isError(reply) ? 400 : 200)
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
      return answerJson(c, listJson(all, writer(c)))
    }),

    multiExec: withBody(async (c, body) => {
      const commands = commandsOf(body, maxPipeline)
      const refused = commands.map(refusal).find((why) => why !== undefined)
      // All or nothing.
      if (refused) return answerError(c, 400, `EXECABORT Transaction discarded: NOPERM ${refused}`)
      const replies = await ask(c, (signal) => redis.multiExec(commands, signal))
      return 'error' in replies
        ? answerJson(c, errorJson(replies.error), 400)
        : answerJson(c, listJson(replies, writer(c)))
    }),
  }
}

const writer = (c: Context): ReplyWriter => replyWriter(c.req.header('upstash-encoding')?.toLowerCase() === 'base64')

const listJson = (replies: readonly GatewayReply[], write: ReplyWriter): string => `[${replies.map(write).join(',')}]`
