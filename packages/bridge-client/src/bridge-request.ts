import type { Clock } from '@leasehold/core'
import type { BridgeAnswer, BridgeEndpoint } from './bridge-endpoint.ts'
import { credential } from './credential.ts'

/** Sends a GET. If the bridge does not take the token and there is another, once more with that. */
export function bridgeRequest(
  { url, token, fetch: given }: BridgeEndpoint,
  clock: Clock,
  onTokenFailure: (cause: unknown) => void,
): (path: string, signal: AbortSignal) => Promise<BridgeAnswer> {
  const tokenAfter = credential(token, clock, onTokenFailure)

  async function get(path: string, signal: AbortSignal, refused?: string): Promise<BridgeAnswer> {
    const bearer = await tokenAfter(refused)
    // Who waited may have gone meanwhile.
    signal.throwIfAborted()
    const send = given ?? fetch
    const answer = await send(url.replace(/\/+$/, '') + path, {
      headers: { Authorization: `Bearer ${bearer}`, 'Cache-Control': 'no-store' },
      // It would carry the token to another place.
      redirect: 'manual',
      signal,
      // Older runtimes of Workers throw for a `cache` they do not implement; these have no such property either.
      ...('cache' in Request.prototype && { cache: 'no-store' }),
    })
    if (answer.status !== 401) return answer
    discard(answer)
    return refused === undefined && (await tokenAfter(bearer)) !== bearer ? get(path, signal, bearer) : answer
  }
  return get
}

/** Gives up a body that nobody reads, which would keep its connection. */
export const discard = ({ body }: BridgeAnswer): unknown => body?.cancel().catch(() => undefined)
