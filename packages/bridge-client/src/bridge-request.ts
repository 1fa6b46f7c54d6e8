import type { Clock } from '@leasehold/core'
import type { BridgeAnswer, BridgeEndpoint } from './bridge-endpoint.ts'
import { credential } from './credential.ts'

/** Sends a GET. If the bridge does not accept the token and there is a new one, sends it once more with that. */
export function bridgeRequest(
  { url, token, fetch: given }: BridgeEndpoint,
  clock: Clock,
  onTokenFailure: (cause: unknown) => void,
): (path: string, signal: AbortSignal) => Promise<BridgeAnswer> {
  const tokenAfter = credential(token, clock, onTokenFailure)

  async function get(path: string, signal: AbortSignal, refused?: string): Promise<BridgeAnswer> {
    const bearer = await tokenAfter(refused)
    // The waiter may have left meanwhile.
    signal.throwIfAborted()
    const send = given ?? fetch
    const answer = await send(url.replace(/\/+$/, '') + path, {
      headers: { Authorization: `Bearer ${bearer}`, 'Cache-Control': 'no-store' },
      // A redirect would carry the token elsewhere.
      redirect: 'manual',
      signal,
      // Older Workers runtimes throw for `cache`, which they do not implement. Their `Request` has no such property.
      ...('cache' in Request.prototype && { cache: 'no-store' }),
    })
    if (answer.status !== 401) return answer
    discard(answer)
    return refused === undefined && (await tokenAfter(bearer)) !== bearer ? get(path, signal, bearer) : answer
  }
  return get
}

/** Cancels a body that nobody reads: it would keep its connection open. */
export const discard = ({ body }: BridgeAnswer): unknown => body?.cancel().catch(() => undefined)
