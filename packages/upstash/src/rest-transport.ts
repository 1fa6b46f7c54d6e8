import type { RedisTransport, ScriptCall, ScriptReply } from '@leasehold/core/redis'
import type { RestEndpoint } from './rest-endpoint.ts'
import { repliesOf, unanswered } from './rest-reply.ts'
import { withoutSecrets } from './secrets.ts'

/**
 * Runs scripts over the REST protocol: one call as `POST /`, several as one `POST /pipeline`. Each request is sent
 * once.
 *
 * Strings come as plain JSON, not as base64. Scripts take and return text, which JSON carries unchanged. With base64 it would be
 * unclear whether a status such as `OK` was encoded.
 */
export function restTransport(endpoint: RestEndpoint): RedisTransport {
  return {
    // Enough for the internet with a new TLS connection. Core retries within this time.
    commandDeadlineMs: 5_000,
    cluster: false,
    countsSubscribers: false,
    nodeOf: () => '',
    whenReady: () => undefined,
    run: (calls, deadline) =>
      new Promise((resolve) => {
        const none = (executed: 'no' | 'unknown', problem: string): void =>
          resolve(calls.map(() => unanswered(executed, problem)))
        if (deadline.isOver || calls.length === 0) return none('no', 'Not sent in time')
        // An answer after that is too late, and an error of the aborted fetch is not an answer.
        deadline.onOver(() => none('unknown', 'The server did not answer in time'))
        void post(endpoint, calls, deadline.signal).then(resolve)
      }),
  }
}

async function post(
  { url, token, fetch: send = fetch }: RestEndpoint,
  calls: readonly ScriptCall[],
  signal: AbortSignal,
): Promise<readonly ScriptReply[]> {
  const commands = calls.map(({ command, body, keys, args }) => [command, body, keys.length, ...keys, ...args])
  const single = commands.length === 1
  const clean = (text: string): string => withoutSecrets(text, token, calls)
  try {
    const answer = await send(single ? url : `${url}/pipeline`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${token}`,
        'Cache-Control': 'no-store',
        'Content-Type': 'application/json',
      },
      body: JSON.stringify(single ? commands[0] : commands),
      // A redirect would turn the command into a GET, or send it somewhere else.
      redirect: 'manual',
      signal,
      // Older Workers runtimes throw for `cache`, which they do not implement. Their `Request` has no such property.
      ...('cache' in Request.prototype && { cache: 'no-store' }),
    })
    return repliesOf(answer, await answer.text(), calls, clean)
  } catch (error) {
    // Unknown even if no connection was made: runtimes have no common way to report that.
    const failed = unanswered('unknown', `The request failed${wordsOf(error, clean)}`)
    return calls.map(() => failed)
  }
}

/**
 * The messages of an error and its causes: `: fetch failed: connect ECONNREFUSED 127.0.0.1:8790`. Nothing else of an error is kept,
 * because a `fetch` may attach the request to it, with the token.
 *
 * @param depth how many causes are read; they may be circular
 */
function wordsOf(error: unknown, clean: (text: string) => string, depth = 4): string {
  const { message, code, cause } = Object(error)
  // For a host name with several addresses, the error has a code but no message.
  return error && depth ? `: ${clean(`${message || code || error}`)}${wordsOf(cause, clean, depth - 1)}` : ''
}
