import { InvalidOptionError } from '../errors.ts'
import { fenceHeader, readFence } from './fence-header.ts'

/**
 * Decides whether a fence may pass: the highest fence the resource has seen (null if none yet), or a function that
 * compares. The function returns true for a fence equal to or above the highest, and remembers that fence in the same
 * atomic step. Any other return value is a refusal.
 */
export type AcceptFence = number | null | ((fence: number) => boolean | Promise<boolean>)

export interface FenceGateOptions {
  /** Whether a request without the header is refused; default true. */
  readonly required?: boolean | undefined
}

/**
 * Refuses the request of a holder that comes too late. Returns null if the request may go on, and otherwise the
 * response to send (`application/problem+json`): 412 for a fence below the highest, 428 for a missing header, 400 for a
 * malformed one.
 *
 * **A gate in front of a write does not guard the write:** a request may pass the gate, pause, and write after a later
 * holder has passed. So let the function do the write if the resource can compare and write in one step:
 *
 * ```ts
 * const refusal = await fenceGate(request.headers, async (fence) => {
 *   const outcome = await guardedSet(transport, 'printer:7', job, { fence })
 *   return outcome.stored
 * })
 * if (refusal) return refusal
 * ```
 *
 * Rejects with whatever the function throws.
 */
export async function fenceGate(
  headers: Headers,
  accept: AcceptFence,
  { required = true }: FenceGateOptions = {},
): Promise<Response | null> {
  let fence: number | null
  try {
    fence = readFence(headers)
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error
    return problem(400, 'Bad Request', `The header ${fenceHeader} must be one positive integer`)
  }
  if (fence === null) {
    return required ? problem(428, 'Precondition Required', `Send the fence of your lease in ${fenceHeader}`) : null
  }
  const accepted = typeof accept === 'function' ? await accept(fence) : accept === null || fence >= accept
  if (accepted === true) return null
  const highest = typeof accept === 'number' ? { highest: accept } : {}
  return problem(412, 'Precondition Failed', 'A holder with a higher fence has been here; your lease is over', highest)
}

/** A problem of RFC 9457. It has no type of its own, so its title is the one of its status. */
function problem(status: number, title: string, detail: string, more: object = {}): Response {
  return Response.json(
    { type: 'about:blank', title, status, detail, ...more },
    { status, headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' } },
  )
}
