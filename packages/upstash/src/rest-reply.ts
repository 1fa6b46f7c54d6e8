import type { ScriptCall, ScriptReply } from '@leasehold/core/redis'
import type { FetchAnswer } from './rest-endpoint.ts'

/** What the body has for one call. */
type Item = { readonly result?: unknown; readonly error?: unknown } | null | undefined

/** No answer to a call, why, and for how long the server wants to be asked nothing, where it says so. */
export const unanswered = (executed: 'no' | 'unknown', problem: string, retryAfterMs?: number): ScriptReply => ({
  type: 'unknown',
  executed,
  cause: new Error(problem),
  retryAfterMs,
})

/** No server makes a caller pause for longer. */
const longestRetryAfterMs = 60_000

/**
 * What an HTTP answer means for each of the calls.
 *
 * Only two statuses are the server's own: 200, and 400 for a command that failed. A gateway, proxy or login page on the
 * way may say anything else, after the command was carried out or before. What else of 4xx no repeat can change is a
 * refusal; the rest is taken for no answer.
 *
 * @param clean removes from a text what is secret
 */
export function repliesOf(
  { status, headers }: Pick<FetchAnswer, 'status' | 'headers'>,
  text: string,
  calls: readonly ScriptCall[],
  clean: (text: string) => string,
): readonly ScriptReply[] {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    // A page of HTML, nothing, or half of an answer; the parser's message would quote it.
  }
  const error = errorIn(body)
  const answer = `HTTP ${status}${error && `: ${error}`}`
  // One call is answered by an object, several by a list of as many.
  const items = calls.length === 1 ? [body] : body
  const fits = status === 200 && Array.isArray(items) && items.length === calls.length

  // All but the three that a repeat may change: too slow, too early, over a limit.
  const refuses = /^4(?!08|2[59])/.test(`${status}`)
  const refused = `The server refused (${answer}); ${status === 413 ? 'send less' : 'check url and token'}`
  const refusal = refuses && ((status === 400 && error) || refused)
  // These the server itself, which has a form of its own, says before it begins. Somebody on the way may have passed the
  // request on, and may hide what became of it behind any page, such as one that says 404.
  const resent = refuses && !(error && (status < 404 || status === 413))
  // Even over a limit, which a copy of the request may not have been: see below.
  const none = (message: string): ScriptReply =>
    unanswered('unknown', clean(message), /^(429|503)$/.test(`${status}`) ? retryAfterMs(headers) : 0)

  return calls.map((_, index) => {
    const item: Item = fits ? items[index] : undefined
    const message = refusal || errorIn(item)
    // Of the gateway: it was carried out, and its reply was more than may be sent.
    if (/^TOO(LARGE|DEEP) /.test(message)) return none(message)
    if (message) return { type: 'error', message: clean(message), ...(resent && { resent }) }
    if (item?.result === undefined) return none(`The server did not answer (${answer})`)
    /*
     * Some runtimes and proxies send a POST again when the connection is reset before the reply, and nothing here can show
     * it. To suspect it of every answer would make each lease that was revoked look as if its own release had freed it;
     * so the store tells, where each ending leaves its mark.
     */
    return { type: 'value', value: item.result, resent: false }
  })
}

/** For how long it wants to be asked nothing, in milliseconds: in seconds, or as a date. What is neither asks for nothing. */
function retryAfterMs(headers: FetchAnswer['headers']): number {
  const after = headers?.get('Retry-After') ?? ''
  const ms = /^\d+$/.test(after) ? Number(after) * 1_000 : /GMT$/.test(after) && Date.parse(after) - Date.now()
  return Math.min(ms || 0, longestRetryAfterMs)
}

const errorIn = (item: unknown): string => {
  const error = (item as Item)?.error
  return typeof error === 'string' ? error : ''
}
