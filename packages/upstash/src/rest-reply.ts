import type { ScriptCall, ScriptReply } from '@leasehold/core/redis'
import type { FetchAnswer } from './rest-endpoint.ts'

/** The part of the response body for one call. */
type Item = { readonly result?: unknown; readonly error?: unknown } | null | undefined

/** The reply for a call that got no answer: why, and the pause that the server asks for, if any. */
export const unanswered = (executed: 'no' | 'unknown', problem: string, retryAfterMs?: number): ScriptReply => ({
  type: 'unknown',
  executed,
  cause: new Error(problem),
  retryAfterMs,
})

/** The longest pause that a server can ask for, in milliseconds. */
const longestRetryAfterMs = 60_000

/**
 * What an HTTP response means for each of the calls.
 *
 * Only two statuses are the server's own: 200, and 400 for a command that failed. Any other may come from a gateway,
 * proxy or login page on the way, before or after the command was carried out. A 4xx that a retry cannot change is a
 * refusal. Everything else counts as no answer.
 *
 * @param clean removes secrets from a text
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
    // An HTML page, an empty body, or half an answer. The parser's message would quote it, so it is dropped.
  }
  const error = errorIn(body)
  const answer = `HTTP ${status}${error && `: ${error}`}`
  // The body for one call is an object; for several it is a list of the same length.
  const items = calls.length === 1 ? [body] : body
  const fits = status === 200 && Array.isArray(items) && items.length === calls.length

  // Every 4xx except three that a retry may change: too slow (408), too early (425), over a limit (429).
  const refuses = /^4(?!08|2[59])/.test(`${status}`)
  const refused = `The server refused (${answer}); ${status === 413 ? 'send less' : 'check url and token'}`
  const refusal = refuses && ((status === 400 && error) || refused)
  // The server itself refuses with these statuses, in its own format, before it carries anything out. Any other
  // response, such as a 404, may come from a proxy that has forwarded the request and hides its outcome.
  const resent = refuses && !(error && (status < 404 || status === 413))
  // Unknown even over a limit: a copy of the request may have got through. See below.
  const none = (message: string): ScriptReply =>
    unanswered('unknown', clean(message), /^(429|503)$/.test(`${status}`) ? retryAfterMs(headers) : 0)

  return calls.map((_, index) => {
    const item: Item = fits ? items[index] : undefined
    const message = refusal || errorIn(item)
    // The gateway's own error: the command was carried out, but its reply is too large or too deep to send.
    if (/^TOO(LARGE|DEEP) /.test(message)) return none(message)
    if (message) return { type: 'error', message: clean(message), ...(resent && { resent }) }
    if (item?.result === undefined) return none(`The server did not answer (${answer})`)
    /*
     * Some runtimes and proxies resend a POST when the connection is reset before the reply, and nothing here shows it.
     * Suspecting that of every answer would make each revoked lease look as if its own release had freed it. So the store
     * detects it: there, each way of ending a lease leaves a mark.
     */
    return { type: 'value', value: item.result, resent: false }
  })
}

/** The pause that the server asks for, in milliseconds. The header has seconds or a date; anything else counts as 0. */
function retryAfterMs(headers: FetchAnswer['headers']): number {
  const after = headers?.get('Retry-After') ?? ''
  const ms = /^\d+$/.test(after) ? Number(after) * 1_000 : /GMT$/.test(after) && Date.parse(after) - Date.now()
  return Math.min(ms || 0, longestRetryAfterMs)
}

const errorIn = (item: unknown): string => {
  const error = (item as Item)?.error
  return typeof error === 'string' ? error : ''
}
