import type { RedisTransport, ScriptCall, ScriptReply } from '@leasehold/core/redis'
import type { RestEndpoint } from './rest-endpoint.ts'
import { repliesOf, unanswered } from './rest-reply.ts'
import { withoutSecrets } from './secrets.ts'

/**
 * Runs scripts over the REST protocol: one call as `POST /`, several as one `POST /pipeline`, each request sent once.
 *
 * Strings come as plain JSON, not as base64: scripts are called with text and answer text, which JSON carries whole,
 * while base64 leaves it open whether a status such as `OK` was encoded.
 */
export function restTransport(endpoint: RestEndpoint): RedisTransport {
  return {
    // Over the internet, a new TLS connection included. The core retries within it.
    commandDeadlineMs: 5_000,
    cluster: false,
    countsSubscribers: false,
    nodeOf: () => '',
    run: (calls, deadline) =>
      new Promise((resolve) => {
        const none = (executed: 'no' | 'unknown', problem: string): void =>
          resolve(calls.map(() => unanswered(executed, problem)))
        if (deadline.isOver || calls.length === 0) return none('no', 'Not sent in time')
        // Whatever is answered later is late, and whatever fetch makes of the abort is no answer.
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
      // A redirect would turn the command into a GET, or carry it to another place.
      redirect: 'manual',
      signal,
      // Older runtimes of Workers throw for a `cache` they do not implement; these have no such property either.
      ...('cache' in Request.prototype && { cache: 'no-store' }),
    })
    return repliesOf(answer, await answer.text(), calls, clean)
  } catch (error) {
    // Unknown even where no connection was made: runtimes do not say so in any common way.
    const failed = unanswered('unknown', `The request failed${wordsOf(error, clean)}`)
    return calls.map(() => failed)
  }
}

/**
 * What an error says, and what is behind it: `: fetch failed: connect ECONNREFUSED 127.0.0.1:8790`. Nothing else of an error is
 * kept: a `fetch` may put the request on it, with the token.
 *
 * @param depth how many causes are read, as they may form a ring
 */
function wordsOf(error: unknown, clean: (text: string) => string, depth = 4): string {
  const { message, code, cause } = Object(error)
  // The error of a name with several addresses has a code and no message.
  return error && depth ? `: ${clean(`${message || code || error}`)}${wordsOf(cause, clean, depth - 1)}` : ''
}
