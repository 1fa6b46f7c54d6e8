import type { Context } from 'hono'

const exposed = 'access-control-expose-headers'

/** What an answer in place of the handler's has of headers that are not its own. */
export interface HeadersAround {
  /** Those that outer middleware had set before the handler was to be called. */
  readonly outer: Headers
  /** Names of those that the record of an answer has, or says by its silence that there were none. */
  readonly recorded: ReadonlySet<string>
}

/**
 * Answers with a replay, with a problem, or with the handler's answer as it is after its run. What outer middleware has set stays,
 * but for what the answer says itself.
 */
export function answerInstead(c: Context, answer: Response, { outer, recorded }: HeadersAround): void {
  const response = new Response(answer.body, answer)
  const own = answer.headers
  const isReplay = own.has('idempotency-replayed')
  // If the handler ran, it may have taken some back.
  const left = c.res.headers
  for (const [name, value] of outer) {
    if (!left.has(name) || (isReplay && recorded.has(name))) continue
    const listsOther = name === exposed && !own.get(name)?.includes(left.get(name) as string)
    if (listsOther || !own.has(name)) response.headers.append(name, value)
  }
  // Otherwise Hono would give it all headers of the response that it replaces.
  c.res = undefined
  c.res = response
}
