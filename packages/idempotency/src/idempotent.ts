import type { WaitUntil } from '@leasehold/core'
import { checkedOptions, type IdempotentOptions } from './options.ts'
import type { IdempotentWork } from './work.ts'

/**
 * Answers one request: runs the work, replays its recorded answer, or says why it does neither.
 *
 * Work that has begun goes on and is recorded although its client has left. On runtimes that stop with the response, the locker's
 * `waitUntil` is given the run until it ends; a `waitUntil` given here is given all that this request does.
 *
 * It rejects with what the work throws, with what `scope`, `fingerprint` or `inDoubt` throws, and with the reason of the request's
 * signal if the client leaves before the work has begun. Everything else is an answer.
 */
export type IdempotentHandle = (
  request: Request,
  work: IdempotentWork,
  call?: { readonly waitUntil?: WaitUntil | undefined },
) => Promise<Response>

/**
 * Makes handlers idempotent by the `Idempotency-Key` header. It checks the options once, and does no I/O.
 *
 * Of the requests with one key, one runs the work, and the others get its answer, or are told why not. That the work has its
 * effect only once it cannot promise: a process may die between the effect and its record. Then the key is in doubt, and
 * `inDoubt` decides.
 *
 * @example
 * ```ts
 * const handle = idempotent({ locks, scope: (request) => tenantOf(request) })
 *
 * const response = await handle(request, async (request, { run }) => {
 *   const receipt = await pay(await request.json(), { fence: run?.fence, signal: request.signal })
 *   return Response.json(receipt, { status: 201 })
 * })
 * ```
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad
 */
export function idempotent(options: IdempotentOptions): IdempotentHandle {
  checkedOptions(options)
  return async (request, work) => work(request, { run: undefined, key: undefined })
}
