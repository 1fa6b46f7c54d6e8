import type { Context } from 'hono'

const exposed = 'access-control-expose-headers'

/** The headers that an answer in place of the handler's takes from elsewhere. */
export interface HeadersAround {
  /** Headers that outer middleware had set before the handler's turn. */
  readonly outer: Headers
  /** Names of headers that come only from the record: one that it lacks was not on the first answer. */
  readonly recorded: ReadonlySet<string>
}

/**
 * Answers with a replay, with a problem, or with the handler's answer as it is after its run. Headers of outer
 * middleware stay, except those that the answer sets itself.
 */
export function answerInstead(c: Context, answer: Response, { outer, recorded }: HeadersAround): void {
  const response = new Response(answer.body, answer)
  const own = answer.headers
  const isReplay = own.has('idempotency-replayed')
  // If the handler ran, it may have removed some of them.
  const left = c.res.headers
  for (const [name, value] of outer) {
    if (!left.has(name) || (isReplay && recorded.has(name))) continue
    const listsOther = name === exposed && !own.get(name)?.includes(left.get(name) as string)
    if (listsOther || !own.has(name)) response.headers.append(name, value)
  }
  // Otherwise Hono would copy all headers of the replaced response.
  c.res = undefined
  c.res = response
}
