import type { ScriptCall, ScriptReply } from '@leasehold/core/redis'

/** What the body has for one call. */
type Item = { readonly result?: unknown; readonly error?: unknown } | null | undefined

/** No answer to a call, and why. */
export const unanswered = (executed: 'no' | 'unknown', problem: string): ScriptReply => ({
  type: 'unknown',
  executed,
  cause: new Error(problem),
})

/**
 * What an HTTP answer means for each of the calls.
 *
 * Only two statuses are the server's own: 200, and 400 for a command that failed. A gateway, proxy or login page on the
 * way may say anything else, after the command was carried out or before; so that is taken for no answer, except for
 * what speaks of the access itself.
 *
 * @param clean removes from a text what is secret
 */
export function repliesOf(
  status: number,
  text: string,
  calls: readonly ScriptCall[],
  clean: (text: string) => string,
): readonly ScriptReply[] {
  const body = parsed(text)
  const error = errorIn(body as Item)
  const answer = clean(`HTTP ${status}${error && `: ${error}`}`)
  // Over a limit: turned away before anything was done.
  const executed = status === 429 ? 'no' : 'unknown'
  const none = unanswered(executed, `The server did not answer (${answer})`)

  const refused = status === 401 || status === 403 ? `The server refused access (${answer}); check url and token` : ''
  const items: readonly Item[] =
    status === 200 ? itemsIn(body, calls.length) : calls.map(() => ({ error: status === 400 ? error : refused }))
  return calls.map((_, index) => {
    const item = items[index]
    const message = errorIn(item)
    if (message) return { type: 'error', message: clean(message) }
    if (item?.result === undefined) return none
    /*
     * Sent once, so the answer is to the first sending: servers' fetch does not repeat a POST, and there is no connection
     * to look at that could tell of one that was repeated on the way. Saying so of every answer would make each lease
     * that was revoked look as if its own release had freed it.
     */
    return { type: 'value', value: item.result, resent: false }
  })
}

/** One call is answered by an object, several by a list of as many. */
function itemsIn(body: unknown, count: number): readonly Item[] {
  const items = count === 1 ? [body] : body
  return Array.isArray(items) && items.length === count ? items : []
}

const errorIn = (item: Item): string => (typeof item?.error === 'string' ? item.error : '')

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // A page of HTML, nothing, or half of an answer; the parser's message would quote it.
    return undefined
  }
}
