import type { Run } from '@leasehold/core/records'

/**
 * The run that the work belongs to, limited to what the work may use. `key` is the name of its record, made of scope
 * and key: no other request has it, so it is a good idempotency key for whatever the work calls.
 */
export type OngoingRun = Pick<Run, 'key' | 'fence' | 'overtook' | 'signal' | 'remaining' | 'assertValid'>

/** What the work is given besides its request. Both are undefined for a request that passes through unguarded. */
export type WorkContext =
  | {
      readonly run: OngoingRun
      /** The client's key, without quotes. */
      readonly key: string
    }
  | { readonly run: undefined; readonly key: undefined }

/**
 * The user's handler. Of guarded requests with the same key, it is called for one at a time, and for none while a
 * recorded answer is kept.
 *
 * @param request the request with an unread body. If it is guarded, its signal is the run's: it is aborted when the
 *   lease is lost, and not when the client leaves
 */
export type IdempotentWork = (request: Request, context: WorkContext) => Response | Promise<Response>
